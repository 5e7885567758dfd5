// SPDX-License-Identifier: BSD-3-Clause
#include "support/holder_lab.hpp"

namespace asrp::test {
namespace {

TEST_CASE("a SYN with an inline NS is stored, committed, and handed on as the client sent it [spec 4.3.3-4]") {
  for (const TuplePair& session : {nat_session(), full_nat_session(), nat_session6()}) {
    HolderLab lab;
    const Out verdict = lab.in(syn_with(session, ns_of(session))).one();
    CHECK(verdict.kind == OutputKind::replace);
    CHECK(verdict.mark == 0);
    CHECK(verdict.octets == syn_of(session));
    CHECK(lab.store.commits == 1);
    CHECK(lab.backups() == 1);
    CHECK(lab.knows(session.client_side));
    CHECK(lab.count(HolderCounter::received_ns) == 1);
    CHECK(lab.count(HolderCounter::packets_stripped) == 1);
  }
}

}  // namespace
}  // namespace asrp::test
