-- SPDX-License-Identifier: BSD-3-Clause
-- Dissector of ASRP messages (draft-cmcc-asrp) for Wireshark and tshark 4.0 or later, in all carriages: behind a TCP option at the head
-- of the segment, in a UDP option (RFC 9868), and in datagrams to ASRP-PORT. README.md beside it says how to install and use it.
--
-- Two parts: a dissector of UDP port 51200, and a post-dissector that looks into every TCP and UDP packet that the others have found,
-- whatever tunnel or fragments it came in. All positions are offsets in a data source (the frame, or a reassembled packet); octets
-- beyond its length were not captured.

local asrp = Proto("asrp", "Adaptive Session Recovery Protocol")
local flows = Proto("asrp_flows", "ASRP in packets of flows")

-- --- fields ------------------------------------------------------------------------------------------------------------

local TYPES = { [0] = "NS", "NA", "QS", "RS", "RX", "HS", "PS", "NC" }
local TITLES = {
  NS = "New Session", NA = "New session Acknowledgment", QS = "Query Session", RS = "Recover Session",
  RX = "Recover: no session", HS = "Hello Session", PS = "Push Session", NC = "New session Conflict",
}
local STTYPES = { [0] = "NULL", "ST44", "ST66", "ST46", "ST64", "ST4", "ST6" }
-- Sizes of the addresses of the tuples of a layout.
local LAYOUTS = { [0] = {}, { 4, 4 }, { 16, 16 }, { 4, 16 }, { 16, 4 }, { 4 }, { 16 } }
local TUPLES_OF = { NS = 2, NA = 2, QS = 1, RS = 2, RX = 1, HS = 0, PS = 2, NC = 2 }
local PROTOCOLS = { [6] = "TCP", [17] = "UDP" }
local HEADER_SIZE, HS_SIZE = 12, 16
local LIP6, ASSIGNED_FLAGS = 0x01, 0x07

local f = {
  carriage = ProtoField.string("asrp.carriage", "Carriage"),
  valid = ProtoField.bool("asrp.valid", "Valid"),
  reason = ProtoField.string("asrp.reason", "Reason", "Why it is no valid message"),
  cut = ProtoField.bool("asrp.cut", "Cut", base.NONE, nil, nil, "The capture ends inside the message, or inside what proves it"),
  not_asrp = ProtoField.bool("asrp.not_asrp", "Not ASRP?", base.NONE, nil, nil, "To ASRP-PORT, but of no known version and type"),
  version = ProtoField.uint8("asrp.version", "Version"),
  type = ProtoField.uint8("asrp.type", "Type", base.DEC, TYPES),
  sttype = ProtoField.uint8("asrp.sttype", "Tuple layout", base.DEC, STTYPES),
  flags = ProtoField.uint8("asrp.flags", "Flags", base.HEX),
  lip6 = ProtoField.bool("asrp.flags.lip6", "F-LIP6", 8, nil, 0x01, "Node-Local-IP is an IPv6 address"),
  cc = ProtoField.bool("asrp.flags.cc", "F-CC", 8, nil, 0x02, "The conflict is on the client side"),
  na = ProtoField.bool("asrp.flags.na", "F-NA", 8, nil, 0x04, "An NA is asked for"),
  unassigned = ProtoField.uint8("asrp.flags.unassigned", "Unassigned", base.HEX, nil, 0xf8),
  length = ProtoField.uint16("asrp.length", "Length"),
  reserved = ProtoField.uint8("asrp.reserved", "Reserved", base.HEX),
  protocol = ProtoField.uint8("asrp.protocol", "Protocol", base.DEC, PROTOCOLS),
  cookie = ProtoField.uint32("asrp.cookie", "Cookie", base.HEX),
  reserved_body = ProtoField.bytes("asrp.reserved_body", "Reserved"),
  session_data = ProtoField.bytes("asrp.session_data", "Session-Data"),
  node_local_ip = ProtoField.ipv4("asrp.node_local_ip", "Node-Local-IP"),
  node_local_ip6 = ProtoField.ipv6("asrp.node_local_ip", "Node-Local-IP"),
}
for n, title in ipairs({ "Client-side tuple (ST1)", "Server-side tuple (ST2)" }) do
  local name = "asrp.st" .. n
  f["st" .. n] = {
    title = title,
    src = ProtoField.ipv4(name .. ".src", "Source"), src6 = ProtoField.ipv6(name .. ".src", "Source"),
    dst = ProtoField.ipv4(name .. ".dst", "Destination"), dst6 = ProtoField.ipv6(name .. ".dst", "Destination"),
    sport = ProtoField.uint16(name .. ".sport", "Source port"), dport = ProtoField.uint16(name .. ".dport", "Destination port"),
  }
end

local all_fields = {}
for _, field in pairs(f) do
  if type(field) == "table" then
    for name, part in pairs(field) do
      if name ~= "title" then all_fields[#all_fields + 1] = part end
    end
  else
    all_fields[#all_fields + 1] = field
  end
end
asrp.fields = all_fields

local e = {
  invalid = ProtoExpert.new("asrp.expert.invalid", "Invalid ASRP message", expert.group.MALFORMED, expert.severity.ERROR),
  cut = ProtoExpert.new("asrp.expert.cut", "The capture ends inside the message", expert.group.UNDECODED, expert.severity.NOTE),
  not_asrp = ProtoExpert.new("asrp.expert.not_asrp", "Probably not ASRP", expert.group.UNDECODED, expert.severity.NOTE),
  reserved = ProtoExpert.new("asrp.expert.reserved", "Unassigned bits are set", expert.group.PROTOCOL, expert.severity.NOTE),
}
asrp.experts = { e.invalid, e.cut, e.not_asrp, e.reserved }

asrp.prefs.port = Pref.uint("UDP port", 51200, "ASRP-PORT")
asrp.prefs.exid = Pref.uint("ExID", 0x4153, "Experiment identifier behind the experimental option kinds (16723 is 0x4153)")
asrp.prefs.tcp_kind = Pref.uint("TCP option kind", 253, "253 and 254 are followed by the ExID, others stand for themselves")
asrp.prefs.udp_kind = Pref.uint("UDP option kind", 127, "127 (EXP) is followed by the ExID, others stand for themselves")

-- --- the message -------------------------------------------------------------------------------------------------------

-- A place where a message must be: `room` octets from `at` of the data source `buf`; `exact`: it has to fill them.
-- Octets of it that were captured.
local function captured(place) return math.max(0, math.min(place.room, place.buf:len() - place.at)) end

local function u8(place, n) return place.buf(place.at + n, 1):uint() end
local function u16(place, n) return place.buf(place.at + n, 2):uint() end

-- Octets that the message must have at least, by its type, layout and flags.
local function least_size(name, layout, flags)
  if name == "HS" then return HS_SIZE end
  local size = HEADER_SIZE
  for _, address in ipairs(layout) do size = size + 2 * address + 4 end
  if name == "NS" then size = size + (bit.band(flags, LIP6) ~= 0 and 16 or 4) end
  return size
end

-- The checks of draft 4.3.1. Gives claim ("message", "invalid", "cut"), and the reason of an invalid one.
local function judge(place)
  local have = captured(place)
  if place.room < HEADER_SIZE then return "invalid", "truncated" end
  if have < 1 then return "cut" end
  if u8(place, 0) ~= 0 then return "invalid", "version" end
  if have < 2 then return "cut" end
  local name = TYPES[u8(place, 1)]
  if name == nil then return "invalid", "type" end
  if have < 3 then return "cut" end
  local layout = LAYOUTS[u8(place, 2)]
  if layout == nil or #layout ~= TUPLES_OF[name] then return "invalid", "sttype" end
  if have < 6 then return "cut" end
  local length = u16(place, 4)
  if place.exact and length ~= place.room then return "invalid", "length" end
  if length > place.room then return "invalid", "truncated" end
  local least = least_size(name, layout, u8(place, 3))
  if length < least or (name == "HS" and length ~= least) then return "invalid", "length" end
  return have < length and "cut" or "message"
end

local function add_flags(tree, range)
  local item = tree:add(f.flags, range)
  for _, flag in ipairs({ f.lip6, f.cc, f.na, f.unassigned }) do item:add(flag, range) end
  return bit.band(range:uint(), bit.bnot(ASSIGNED_FLAGS)) ~= 0
end

-- Adds what there is of the header; true if all of it is there.
local function add_header(tree, place)
  local have, unassigned = captured(place), false
  local parts = { { f.version, 0, 1 }, { f.type, 1, 1 }, { f.sttype, 2, 1 }, { nil, 3, 1 }, { f.length, 4, 2 }, { f.reserved, 6, 1 },
                  { f.protocol, 7, 1 }, { f.cookie, 8, 4 } }
  for _, part in ipairs(parts) do
    if part[2] + part[3] > have then return false end
    local range = place.buf(place.at + part[2], part[3])
    if part[1] then tree:add(part[1], range) else unassigned = add_flags(tree, range) end
    if part[1] == f.reserved and range:uint() ~= 0 then unassigned = true end
  end
  if unassigned then tree:add_proto_expert_info(e.reserved) end
  return true
end

local function add_tuple(tree, fields, range, size)
  local is_v6 = size == 16
  local item = tree:add(asrp, range, fields.title)
  local src, dst = range(0, size), range(size, size)
  item:add(is_v6 and fields.src6 or fields.src, src)
  item:add(is_v6 and fields.dst6 or fields.dst, dst)
  item:add(fields.sport, range(2 * size, 2))
  item:add(fields.dport, range(2 * size + 2, 2))
  local function text(part) return tostring(is_v6 and part:ipv6() or part:ipv4()) end
  local form = is_v6 and "%s: [%s]:%d > [%s]:%d" or "%s: %s:%d > %s:%d"
  item:set_text(form:format(fields.title, text(src), range(2 * size, 2):uint(), text(dst), range(2 * size + 2, 2):uint()))
end

-- Adds what is behind the header, as far as it was captured and lies within the Length field.
local function add_body(tree, place, is_valid)
  local name, layout = TYPES[u8(place, 1)], LAYOUTS[u8(place, 2)]
  if name == nil or layout == nil or #layout ~= TUPLES_OF[name] then return end
  local stop, at = math.min(captured(place), u16(place, 4)), HEADER_SIZE
  for n, size in ipairs(layout) do
    if at + 2 * size + 4 > stop then return end
    add_tuple(tree, f["st" .. n], place.buf(place.at + at, 2 * size + 4), size)
    at = at + 2 * size + 4
  end
  if not is_valid then return end
  local rest = stop
  if name == "NS" then rest = stop - (bit.band(u8(place, 3), LIP6) ~= 0 and 16 or 4) end
  if name == "HS" then
    tree:add(f.reserved_body, place.buf(place.at + at, 4))
    if place.buf(place.at + at, 4):uint() ~= 0 then tree:add_proto_expert_info(e.reserved) end
  elseif rest > at then
    tree:add(f.session_data, place.buf(place.at + at, rest - at))
  end
  if name == "NS" then
    tree:add(stop - rest == 16 and f.node_local_ip6 or f.node_local_ip, place.buf(place.at + rest, stop - rest))
  end
end

local function title_of(place)
  local have = captured(place)
  local name = have >= 2 and u8(place, 0) == 0 and TYPES[u8(place, 1)]
  if not name then return "ASRP" end
  local text = "ASRP " .. name
  if have >= 3 and STTYPES[u8(place, 2)] then text = text .. " " .. STTYPES[u8(place, 2)] end
  if have >= HEADER_SIZE then text = text .. (" cookie %08x"):format(place.buf(place.at + 8, 4):uint()) end
  return text, name
end

-- Octets of the message that the capture has: those of the Length field, or all of a damaged one.
local function extent(place, claim)
  local have = captured(place)
  if claim == "message" or (claim == "cut" and have >= 6) then return math.min(have, u16(place, 4)) end
  return have
end

-- Adds the message in `place` to the tree. `verdict`, where given, is what the option around it has brought to light.
local function add_message(tree, pinfo, place, carriage, verdict)
  local claim, reason = judge(place)
  if verdict then claim, reason = verdict.claim, verdict.reason end
  local text, name = title_of(place)
  local range = place.buf(math.min(place.at, place.buf:len()), extent(place, claim))
  local state = claim == "message" and "" or claim == "cut" and " [cut]" or claim == "invalid" and " [invalid: " .. reason .. "]" or " [not ASRP?]"
  local root = tree:add(asrp, range, ("%s (%s)%s"):format(text, carriage, state))
  root:add(f.carriage, range, carriage):set_generated()
  if claim == "not-asrp" then
    root:add(f.not_asrp, range, true):set_generated()
    root:add_proto_expert_info(e.not_asrp)
    return claim, text .. state
  end
  if claim ~= "cut" then root:add(f.valid, range, claim == "message"):set_generated() end
  if claim == "invalid" then
    root:add(f.reason, range, reason):set_generated()
    root:add_proto_expert_info(e.invalid, "Invalid ASRP message: " .. reason)
  elseif claim == "cut" then
    root:add(f.cut, range, true):set_generated()
    root:add_proto_expert_info(e.cut)
  end
  if name then root:append_text(", " .. TITLES[name]) end
  if add_header(root, place) and u8(place, 0) == 0 then add_body(root, place, claim == "message") end
  return claim, text .. state
end

-- --- standalone: a datagram to ASRP-PORT -------------------------------------------------------------------------------

-- Of a known version and type, as far as can be seen. The port lies in the ephemeral range: all else is probably someone else's.
local function looks_like_asrp(place)
  local have = captured(place)
  if place.room < 2 then return false end
  if have >= 1 and u8(place, 0) ~= 0 then return false end
  return have < 2 or TYPES[u8(place, 1)] ~= nil
end

-- Payloads that asrp.dissector has shown, by their offset; the post-dissector leaves them alone.
local shown, shown_in = {}, nil

function asrp.dissector(tvb, pinfo, tree)
  local place = { buf = tvb, at = 0, room = tvb:reported_len(), exact = true }
  local is_to_port = pinfo.dst_port == asrp.prefs.port
  if pinfo.in_error_pkt or not (is_to_port and looks_like_asrp(place) or judge(place) == "message") then return 0 end
  if shown_in ~= pinfo.number then shown, shown_in = {}, pinfo.number end
  shown[tvb:offset() .. "/" .. tvb:reported_len()] = true
  pinfo.cols.protocol = "ASRP"
  local _, text = add_message(tree, pinfo, place, "standalone")
  pinfo.cols.info = text
  return tvb:len()
end

-- --- options -----------------------------------------------------------------------------------------------------------

-- Looks for our option among those of a TCP header. Gives "none", "found" or "malformed" (there twice, or in a damaged area).
local function find_tcp_option(buf, at, stop)
  local kind, has_exid = asrp.prefs.tcp_kind, asrp.prefs.tcp_kind == 253 or asrp.prefs.tcp_kind == 254
  local real, status = math.min(stop, buf:len()), "none"
  while at < real do
    local this = buf(at, 1):uint()
    if this == 0 then return status end
    if this == 1 then
      at = at + 1
    else
      local broken = status == "found" and "malformed" or status
      if stop - at < 2 then return broken end
      if real < at + 2 then return status end
      local size = buf(at + 1, 1):uint()
      if size < 2 or size > stop - at then return broken end
      if real < at + size then return status end
      local is_ours = this == kind and ((has_exid and size == 4 and buf(at + 2, 2):uint() == asrp.prefs.exid) or (not has_exid and size == 2))
      if is_ours and status == "found" then return "malformed" end
      if is_ours then status = "found" end
      at = at + size
    end
  end
  return status
end

local function add_tcp(tree, pinfo, buf, at, stop)
  if buf:len() < at + 14 then return end
  local data = at + 4 * bit.rshift(buf(at + 12, 1):uint(), 4)
  if data < at + 20 or data > stop then return end
  local status = find_tcp_option(buf, at + 20, data)
  if status == "none" then return end
  local place = { buf = buf, at = data, room = stop - data, exact = false }
  local verdict = status == "malformed" and { claim = "invalid", reason = "option" } or nil
  -- A separate packet has nothing of the flow behind its message, and none of SYN, FIN and RST.
  local size = 0
  if captured(place) >= HEADER_SIZE and u8(place, 0) == 0 and u16(place, 4) >= HEADER_SIZE then size = u16(place, 4) end
  local is_separate = bit.band(buf(at + 13, 1):uint(), 0x07) == 0 and place.room <= size
  return add_message(tree, pinfo, place, is_separate and "separate-tcp" or "inline-tcp", verdict)
end

-- One's-complement sum of the octets in 16-bit words.
local function sum_words(range, start)
  local total, octets = start, range:bytes()
  local size = octets:len()
  for n = 0, size - 1, 2 do
    total = total + octets:get_index(n) * 256 + (n + 1 < size and octets:get_index(n + 1) or 0)
  end
  while total > 0xffff do total = total % 0x10000 + math.floor(total / 0x10000) end
  return total
end

local function is_ocs_right(buf, at, surplus, pad, stop)
  if buf(surplus + pad, 2):uint() == 0 then return buf(at + 6, 2):uint() == 0 end
  return sum_words(buf(surplus + pad, stop - surplus - pad), stop - surplus) == 0xffff
end

-- The option at `at` of an area that ends at `stop`: "option" with the offsets of its data and end, "end", "malformed" or "cut".
local function next_udp_option(buf, at, stop)
  local real, nops = math.min(stop, buf:len()), 0
  while at < real and buf(at, 1):uint() == 1 do
    nops, at = nops + 1, at + 1
    if nops > 7 then return "malformed" end
  end
  if at == stop then return "end" end
  if at >= real then return "cut" end
  local kind, head = buf(at, 1):uint(), 2
  if kind == 0 then
    for n = at, real - 1 do
      if buf(n, 1):uint() ~= 0 then return "malformed" end
    end
    return "end"
  end
  if stop - at < 2 then return "malformed" end
  if real < at + 2 then return "cut" end
  local size = buf(at + 1, 1):uint()
  if size == 255 then
    head = 4
    if stop - at < head then return "malformed" end
    if real < at + head then return "cut" end
    size = buf(at + 2, 2):uint()
  end
  local least = head + (kind == 127 and 2 or 0)
  if size < least or size > stop - at then return "malformed" end
  if real < at + least then return "cut" end
  return "option", kind, at + head, at + size
end

-- Looks for our option in the surplus area from `surplus` to `stop` of the datagram at `at`. Gives a place and, if something is wrong
-- with the option or its area, a verdict.
local function find_udp_option(buf, at, surplus, stop)
  local pad = (surplus - at) % 2
  if stop - surplus < pad + 2 then return end
  local has_exid, place, next_at = asrp.prefs.udp_kind == 127, nil, surplus + pad + 2
  local malformed, cut = { claim = "invalid", reason = "option" }, { claim = "cut" }
  while true do
    local what, kind, data, behind = next_udp_option(buf, next_at, stop)
    if what == "malformed" then return place, malformed end
    if what == "cut" then return place, cut end
    if what == "end" then break end
    if kind == asrp.prefs.udp_kind and (not has_exid or buf(data, 2):uint() == asrp.prefs.exid) then
      if place then return place, malformed end
      data = data + (has_exid and 2 or 0)
      place = { buf = buf, at = data, room = behind - data, exact = true }
    elseif kind == 3 or kind >= 192 then
      return place, malformed
    end
    next_at = behind
  end
  if place == nil then return end
  if pad == 1 and buf(surplus, 1):uint() ~= 0 then return place, malformed end
  if buf:len() < stop then return place, cut end
  if not is_ocs_right(buf, at, surplus, pad, stop) then return place, { claim = "invalid", reason = "ocs" } end
  return place
end

local function add_udp(tree, pinfo, buf, at, stop)
  if buf:len() < at + 8 then return end
  local length = buf(at + 4, 2):uint()
  if length < 8 or at + length > stop then return end
  local place, verdict = find_udp_option(buf, at, at + length, stop)
  if place then return add_message(tree, pinfo, place, length == 8 and "separate-udp" or "inline-udp", verdict) end
  local is_to_port = buf(at + 2, 2):uint() == asrp.prefs.port
  if not is_to_port and buf(at, 2):uint() ~= asrp.prefs.port then return end
  if shown_in == pinfo.number and shown[(at + 8) .. "/" .. (length - 8)] then return end
  place = { buf = buf, at = at + 8, room = length - 8, exact = true }
  -- An answer with the ports swapped is wrong, but a message. All else from the port is somebody else's.
  if not is_to_port and judge(place) ~= "message" then return end
  verdict = not looks_like_asrp(place) and { claim = "not-asrp" } or nil
  return add_message(tree, pinfo, place, "standalone", verdict)
end

-- --- the post-dissector: every TCP and UDP header that was found -------------------------------------------------------

local get = {}
for _, name in ipairs({ "ip", "ipv6", "tcp", "udp", "icmp", "icmpv6" }) do get[name] = Field.new(name) end

local function is_same_source(a, b) return a:len() == b:len() and a:reported_len() == b:reported_len() and a == b end

-- The last of `infos` that stands in front of offset `at` in the same data source.
local function last_before(infos, source, at)
  local found
  for _, info in ipairs(infos) do
    if info.offset < at and is_same_source(info.source, source) and (found == nil or info.offset > found.offset) then found = info end
  end
  return found
end

-- Whether an IPv6 packet is a fragment of one: its transport header, if any, is not to be trusted.
local function is_v6_fragment(buf, ip, at)
  local next_header, n = buf(ip + 6, 1):uint(), ip + 40
  while n + 8 <= at do
    if next_header == 44 then return bit.band(buf(n + 2, 2):uint(), 0xfff9) ~= 0 end
    local units = buf(n + 1, 1):uint()
    next_header, n = buf(n, 1):uint(), n + (next_header == 51 and 4 * (units + 2) or 8 * (units + 1))
  end
  return false
end

-- Where the IP packet ends whose transport header is at `at`, or nil if it is a fragment or says nothing useful.
local function end_of_packet(source, at, v4, v6)
  local ip4, ip6 = last_before(v4, source, at), last_before(v6, source, at)
  if ip4 and ip6 and ip6.offset > ip4.offset then ip4 = nil end
  if ip4 then
    local total = source(ip4.offset + 2, 2):uint()
    if bit.band(source(ip4.offset + 6, 2):uint(), 0x3fff) ~= 0 then return nil end
    return total == 0 and source:reported_len() or ip4.offset + total  -- 0: segmentation is left to the network card
  end
  if ip6 then
    local size = source(ip6.offset + 4, 2):uint()
    if is_v6_fragment(source, ip6.offset, at) then return nil end
    return size == 0 and source:reported_len() or ip6.offset + 40 + size
  end
  return source:reported_len()  -- reassembled: the payload stands alone
end

function flows.dissector(_, pinfo, tree)
  local segments, datagrams = { get.tcp() }, { get.udp() }
  if #segments == 0 and #datagrams == 0 then return end
  local v4, v6, icmp = { get.ip() }, { get.ipv6() }, { get.icmp() }
  for _, info in ipairs({ get.icmpv6() }) do icmp[#icmp + 1] = info end
  for _, kind in ipairs({ { segments, add_tcp }, { datagrams, add_udp } }) do
    for _, info in ipairs(kind[1]) do
      local source, at = info.source, info.offset
      -- What an ICMP error quotes is no packet of its own.
      local stop = #icmp > 0 and last_before(icmp, source, at) and 0 or end_of_packet(source, at, v4, v6)
      if stop and stop >= at + 8 then
        local claim, text = kind[2](tree, pinfo, source, at, stop)
        if claim then pinfo.cols.info:append(" [" .. text .. "]") end
      end
    end
  end
end

register_postdissector(flows)

-- --- preferences -------------------------------------------------------------------------------------------------------

local registered_port
local function register_port()
  local ports = DissectorTable.get("udp.port")
  if registered_port then ports:remove(registered_port, asrp) end
  registered_port = asrp.prefs.port
  ports:add(registered_port, asrp)
end

function asrp.prefs_changed()
  if asrp.prefs.port ~= registered_port then register_port() end
end

register_port()
