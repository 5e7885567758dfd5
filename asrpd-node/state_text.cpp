// SPDX-License-Identifier: GPL-2.0-or-later
// What a node knows of former pools, as text. It comes from other nodes too, through the hands of people: so all that is wrong
// with it is told at once.
#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "asrp/policy/epoch_bounds.hpp"
#include "asrpd-node/config_values.hpp"
#include "asrpd-node/json_number.hpp"
#include "asrpd-node/state.hpp"

namespace asrp::node {
namespace {

using nlohmann::json;

constexpr BeginTime kLatestBegin = kLastSecond * 1000;

json to_json(const policy::Epoch& epoch) {
  json members = json::array();
  for (const policy::EpochMember& member : epoch.members) {
    members.push_back({{"id", member.id}, {"weight", member.weight}});
    if (member.priority != 0) members.back()["priority"] = member.priority;
  }
  return {{"key", to_hex(epoch.key)}, {"members", members}};
}

/// Reads, and goes on where something is wrong.
class StateReader {
 public:
  explicit StateReader(std::vector<std::string>& problems) : problems_(problems) {}

  State read(const json& value) {
    State state;
    if (!value.is_object()) {
      problem("the file", "is no JSON object");
      return state;
    }
    if (value.value("version", json()) != 1) problem("version", "is not 1");
    std::set<std::string> names;
    each_of(value, "pools", "", [&](const json& pool, const std::string& at) {
      PoolState read = read_pool(pool, at);
      if (!names.insert(read.pool).second && !read.pool.empty()) problem(at + ".pool", "is there a second time");
      state.push_back(std::move(read));
    });
    return state;
  }

 private:
  using Element = std::function<void(const json& element, const std::string& at)>;

  void problem(const std::string& at, const std::string& what) { problems_.push_back(at + " " + what); }

  void each_of(const json& object, const char* name, const std::string& at, const Element& element) {
    const std::string place = at.empty() ? name : at + "." + name;
    const auto found = object.find(name);
    if (found == object.end() || !found->is_array()) return problem(place, "is no list");
    for (std::size_t i = 0; i < found->size(); ++i) {
      const std::string where = place + "[" + std::to_string(i) + "]";
      if ((*found)[i].is_object()) {
        element((*found)[i], where);
      } else {
        problem(where, "is no object");
      }
    }
  }

  std::string read_name(const json& object, const char* name, const std::string& at) {
    const auto found = object.find(name);
    if (found != object.end() && found->is_string() && is_name(found->get_ref<const std::string&>())) return *found;
    problem(at + "." + name, "is no name: " + std::string(kNameRule));
    return {};
  }

  std::int64_t read_number(const json& object, const char* name, const std::string& at, std::int64_t most) {
    const auto found = object.find(name);
    const bool fits =
        found != object.end() && found->is_number_unsigned() && found->get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
    if (fits) return found->get<std::int64_t>();
    problem(at + "." + name, "is no number from 0 to " + std::to_string(most));
    return 0;
  }

  PoolState read_pool(const json& value, const std::string& at) {
    PoolState out;
    out.pool = read_name(value, "pool", at);
    const auto past = value.find("past");
    // Files of former versions have no times; their order is kept.
    auto place = past != value.end() ? static_cast<BeginTime>(past->size()) + 1 : 1;
    if (const auto current = value.find("current"); current != value.end() && current->is_object()) {
      out.current = read_epoch(*current, at + ".current");
      out.began = read_begin(*current, at + ".current", place);
    } else {
      problem(at + ".current", "is no object");
    }
    each_of(value, "past", at, [&](const json& epoch, const std::string& where) {
      out.past.push_back({read_epoch(epoch, where), read_begin(epoch, where, --place)});
    });
    return out;
  }

  BeginTime read_begin(const json& epoch, const std::string& at, BeginTime otherwise) {
    return epoch.contains("began") ? read_number(epoch, "began", at, kLatestBegin) : otherwise;
  }

  policy::Epoch read_epoch(const json& value, const std::string& at) {
    policy::Epoch epoch;
    Buffer key;
    const auto text = value.find("key");
    if (text != value.end() && text->is_string() && from_hex(text->get_ref<const std::string&>(), key) &&
        key.size() == epoch.key.size()) {
      std::copy(key.begin(), key.end(), epoch.key.begin());
    } else {
      problem(at + ".key", "is not 32 hexadecimal digits");
    }
    std::set<std::string> ids;
    each_of(value, "members", at, [&](const json& member, const std::string& where) {
      policy::EpochMember read;
      read.id = read_name(member, "id", where);
      if (!ids.insert(read.id).second && !read.id.empty()) problem(where + ".id", "is there a second time");
      read.weight = static_cast<std::uint32_t>(read_number(member, "weight", where, kMostWeight));
      if (member.contains("priority"))
        read.priority =
            static_cast<std::uint32_t>(read_number(member, "priority", where, std::numeric_limits<std::uint32_t>::max()));
      epoch.members.push_back(std::move(read));
    });
    if (epoch.members.size() > policy::kMaxEpochMembers)
      problem(at + ".members", "are more than " + std::to_string(policy::kMaxEpochMembers));
    sort_members(epoch);
    return epoch;
  }

  std::vector<std::string>& problems_;
};

}  // namespace

std::string state_json(const State& state) {
  json pools = json::array();
  for (const PoolState& pool : state) {
    json past = json::array();
    for (const PastEpoch& each : pool.past) {
      past.push_back(to_json(each.epoch));
      past.back()["began"] = each.began;
    }
    json current = to_json(pool.current);
    current["began"] = pool.began;
    pools.push_back({{"pool", pool.pool}, {"current", current}, {"past", past}});
  }
  return json({{"version", 1}, {"pools", pools}}).dump() + "\n";
}

std::optional<State> parse_state(const std::string& text, std::vector<std::string>* problems) {
  std::vector<std::string> found;
  State state;
  const json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) {
    found.emplace_back("the file is not JSON, or not whole");
  } else {
    state = StateReader(found).read(value);
  }
  const bool good = found.empty();
  if (problems != nullptr) *problems = std::move(found);
  if (!good) return std::nullopt;
  return state;
}

}  // namespace asrp::node
