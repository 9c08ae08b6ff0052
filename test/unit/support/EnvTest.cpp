// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace ditron;

namespace {

constexpr const char *kName = "DITRON_TEST_VARIABLE";

void set(const char *value) { setenv(kName, value, 1); }

template <class Fn> std::string messageOf(Fn &&fn) {
  try {
    fn();
  } catch (const UsageError &error) {
    return error.what();
  }
  return "no error";
}

TEST(Env, UnsetAndEmptyGiveNothing) {
  unsetenv(kName);
  for (int i = 0; i < 2; ++i, set("")) {
    EXPECT_FALSE(envString(kName));
    EXPECT_FALSE(envInteger(kName, 0, 1));
    EXPECT_FALSE(envFlag(kName));
    EXPECT_FALSE(envChoice(kName, {"a"}));
  }
}

TEST(Env, ReadsItsType) {
  set("10000");
  EXPECT_EQ(envInteger(kName, 1, 10000), 10000);
  EXPECT_EQ(envString(kName), "10000");
  set("-3");
  EXPECT_EQ(envInteger(kName, -3, 3), -3);
  for (const char *yes : {"1", "on", "true", "yes"}) {
    set(yes);
    EXPECT_EQ(envFlag(kName), true);
  }
  for (const char *no : {"0", "off", "false", "no"}) {
    set(no);
    EXPECT_EQ(envFlag(kName), false);
  }
  set("processes");
  EXPECT_EQ(envChoice(kName, {"threads", "processes"}), "processes");
}

TEST(Env, ErrorsNameVariableFoundAndExpected) {
  for (const char *bad : {"10s", "0", "101", "1.5", " 1", "+1", "99999999999999999999"}) {
    set(bad);
    EXPECT_EQ(messageOf([] { envInteger(kName, 1, 100); }),
              std::string("DITRON_TEST_VARIABLE is '") + bad +
                  "': expected an integer from 1 to 100");
  }
  set("maybe");
  EXPECT_EQ(messageOf([] { (void)envFlag(kName); }),
            "DITRON_TEST_VARIABLE is 'maybe': expected 1, on, true, yes, 0, off, false or no");
  auto choose = [] { envChoice(kName, {"threads", "processes"}); };
  EXPECT_EQ(messageOf(choose),
            "DITRON_TEST_VARIABLE is 'maybe': expected one of threads, processes");
}

} // namespace
