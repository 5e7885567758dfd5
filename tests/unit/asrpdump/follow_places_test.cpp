// SPDX-License-Identifier: BSD-3-Clause
#include "report/follow_places.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;

TEST_CASE("a neighbour is the node that its messages name, unless they name several") {
  dump::NodePlaces places;
  places.learn(1, address("10.9.0.1"));
  places.learn(2, address("10.9.0.2"));
  places.learn(3, address("10.9.0.1"));
  places.learn(3, address("10.9.0.2"));
  places.learn(0, address("10.9.0.3"));
  CHECK(places.node_at(1) == address("10.9.0.1"));
  CHECK(places.node_at(2) == address("10.9.0.2"));
  CHECK(!places.node_at(3));
  CHECK(!places.node_at(0));
  CHECK(!places.node_at(9));
}

TEST_CASE("an unknown neighbour is a node without a name only where neighbours tell nodes apart") {
  dump::NodePlaces places;
  CHECK(places.unnamed_at(5) == 0);
  places.learn(3, address("10.9.0.1"));
  places.learn(3, address("10.9.0.2"));
  CHECK(places.unnamed_at(5) == 0);
  places.learn(1, address("10.9.0.1"));
  CHECK(places.unnamed_at(1) == 0);
  CHECK(places.unnamed_at(3) == 0);
  CHECK(places.unnamed_at(5) == 1);
  CHECK(places.unnamed_at(6) == 2);
  places.join(6, 5);
  CHECK(places.unnamed_at(6) == 1);
  CHECK(places.unnamed_at(5) == 1);
  places.join(1, 7);
  CHECK(places.unnamed_at(7) == 3);
}
