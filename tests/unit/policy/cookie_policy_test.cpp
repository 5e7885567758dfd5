// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/cookie_policy.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"
#include "support/policy_builders.hpp"

using namespace asrp;
using namespace asrp::policy;
using namespace asrp::test;

namespace {

TuplePair session() { return {tcp_tuple("203.0.113.7:50000", "198.51.100.1:80"), tcp_tuple("10.1.0.1:2000", "10.0.0.2:8080")}; }

}  // namespace

TEST_CASE("cookies are those of an independent implementation") {
  CHECK(keyed_cookie(counting_key(), session()).value == 0xf88dfcdc);
  TuplePair udp_session = session();
  udp_session.client_side.protocol = udp_session.server_side.protocol = Protocol::udp;
  CHECK(keyed_cookie(counting_key(), udp_session).value == 0x438393e3);
  const TuplePair six{tcp_tuple("[2001:db8::7]:50000", "[2001:db8:1::1]:443"),
                      tcp_tuple("[2001:db8:3::1]:2000", "[2001:db8:2::2]:8443")};
  CHECK(keyed_cookie(counting_key(), six).value == 0xd2a74889);
}

TEST_CASE("any change of the session changes the cookie [spec 4.3.2-6]") {
  const CookiePolicy policy(counting_key(), {});
  const Cookie cookie = policy.issue(session());
  CHECK(policy.verify(session(), cookie));
  for (int field = 0; field < 8; ++field) {
    TuplePair other = session();
    Tuple& tuple = field < 4 ? other.client_side : other.server_side;
    Endpoint& e = field % 4 < 2 ? tuple.src : tuple.dst;
    if (field % 2 == 0) {
      ++e.port;
    } else {
      e.address = address("192.0.2.77");
    }
    CHECK_FALSE(policy.verify(other, cookie));
  }
}

TEST_CASE("rotation: all accepted keys verify, one signs (decision 10)") {
  HashKey old_key = counting_key();
  old_key[0] = 0xff;
  const CookiePolicy before(old_key, {});
  const CookiePolicy during(counting_key(), {old_key});
  const CookiePolicy after(counting_key(), {});
  const Cookie old_cookie = before.issue(session());
  CHECK(during.verify(session(), old_cookie));
  CHECK(during.issue(session()) == after.issue(session()));
  CHECK_FALSE(after.verify(session(), old_cookie));
}
