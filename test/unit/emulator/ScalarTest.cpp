// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar instructions, one at a time, against results that are known; and that unknown ones are
// faults.
#include "Scalar.h"
#include "Emulator.h"
#include <array>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

namespace ditron::emulator {
namespace {

/// What an instruction computes of sources with these bits.
uint64_t computed(const std::string &text, const std::vector<uint64_t> &sources) {
  return compute(parse("{\n" + text + "\n}\n").instructions.at(0), sources);
}
uint64_t single(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t twice(double value) { return std::bit_cast<uint64_t>(value); }
uint64_t f16(float value) { return narrow("f16", value); }
uint64_t bf16(float value) { return narrow("bf16", value); }
uint64_t pair(uint64_t high, uint64_t low) { return high << 16 | low; }

TEST(Scalar, IntegersInPairsDoNotCarry) {
  EXPECT_EQ(computed("add.s16x2 %r1, %r2, %r3;", {0x0001ffff, 0x00010001}), 0x00020000u);
  EXPECT_EQ(computed("add.u16x2 %r1, %r2, %r3;", {0xffff0001, 0x0001ffff}), 0u);
  EXPECT_EQ(computed("min.s16x2 %r1, %r2, %r3;", {0xffff0001, 0x00010002}), 0xffff0001u);
  EXPECT_EQ(computed("max.u16x2 %r1, %r2, %r3;", {0xffff0001, 0x00010002}), 0xffff0002u);
}

TEST(Scalar, BlocksMayHaveSeveralLines) {
  Program program =
      parse("{\n{\n.reg .b64 %lhs;\nshl.b64 %lhs, %rd1, 62;\nshr.b64 %rd2, %lhs, 2;\n}\n"
            "bra $L1;\n$L1:\nret;\n}\n");
  EXPECT_EQ(program.instructions.size(), 4u);
}

TEST(Scalar, HalvesAreFloats) {
  EXPECT_EQ(computed("add.rn.f16 %h1, %h2, %h3;", {f16(1.5f), f16(2)}), f16(3.5f));
  EXPECT_EQ(computed("sub.rn.bf16 %h1, %h2, %h3;", {bf16(1.5f), bf16(2)}), bf16(-0.5f));
  EXPECT_EQ(computed("mul.rn.f16 %h1, %h2, %h3;", {f16(1.5f), f16(-3)}), f16(-4.5f));
  EXPECT_EQ(computed("fma.rn.f16 %h1, %h2, %h3, %h4;", {f16(3), f16(5), f16(-1)}), f16(14));
  EXPECT_EQ(computed("neg.bf16 %h1, %h2;", {bf16(0)}), 0x8000u);
  EXPECT_EQ(computed("abs.f16 %h1, %h2;", {f16(-2)}), f16(2));
  EXPECT_EQ(computed("min.f16 %h1, %h2, %h3;", {f16(-2), f16(NAN)}), f16(-2));
  EXPECT_EQ(computed("max.f16 %h1, %h2, %h3;", {f16(-0.0f), f16(0)}), f16(0));
  EXPECT_TRUE(std::isnan(
      widen("bf16", uint32_t(computed("max.NaN.bf16 %h1, %h2, %h3;", {bf16(-2), bf16(NAN)})))));
  EXPECT_EQ(computed("setp.lt.f16 %p1, %h1, %h2;", {f16(-2), f16(-1)}), 1u);
  EXPECT_EQ(computed("setp.gt.bf16 %p1, %h1, %h2;", {bf16(-2), bf16(-1)}), 0u);
  auto pair = [](uint64_t low, uint64_t high) { return low | high << 16; };
  EXPECT_EQ(
      computed("setp.lt.f16x2 %p1|%p2, %r1, %r2;", {pair(f16(1), f16(-2)), pair(f16(-1), f16(3))}),
      2u);
  EXPECT_EQ(computed("setp.gt.bf16x2 %p1|%p2, %r1, %r2;",
                     {pair(bf16(1), bf16(-2)), pair(bf16(-1), bf16(3))}),
            1u);
}

TEST(Scalar, HalvesAreFloatsInPairs) {
  EXPECT_EQ(computed("add.rn.f16x2 %r1, %r2, %r3;", {pair(f16(1), f16(2)), pair(f16(3), f16(5))}),
            pair(f16(4), f16(7)));
  EXPECT_EQ(
      computed("mul.rn.bf16x2 %r1, %r2, %r3;", {pair(bf16(3), bf16(2)), pair(bf16(3), bf16(-5))}),
      pair(bf16(9), bf16(-10)));
  EXPECT_EQ(computed("neg.bf16x2 %r1, %r2;", {pair(bf16(3), bf16(-2))}), pair(bf16(-3), bf16(2)));
  EXPECT_EQ(computed("abs.bf16x2 %r1, %r2;", {pair(bf16(3), bf16(-2))}), pair(bf16(3), bf16(2)));
  EXPECT_EQ(computed("fma.rn.f16x2 %r1, %r2, %r3, %r4;",
                     {pair(f16(1), f16(2)), pair(f16(3), f16(5)), pair(f16(1), f16(-1))}),
            pair(f16(4), f16(9)));
}

// 3 * 87 = 261 lies between two neighbours of bf16: what is added decides, however small it is.
TEST(Scalar, FmaRoundsOnce) {
  const char *fma = "fma.rn.bf16 %h1, %h2, %h3, %h4;";
  uint64_t tiny = 0x0080; // 2^-126
  EXPECT_EQ(computed(fma, {bf16(3), bf16(87), tiny}), bf16(262));
  EXPECT_EQ(computed(fma, {bf16(3), bf16(87), tiny | 0x8000}), bf16(260));
  EXPECT_EQ(computed(fma, {bf16(3), bf16(87), bf16(0)}), bf16(260)); // to even
}

TEST(Scalar, Conversions) {
  EXPECT_EQ(computed("cvt.rn.f16.s16 %h1, %rs1;", {0xfffd}), f16(-3));
  EXPECT_EQ(computed("cvt.rn.bf16.u32 %h1, %r1;", {257}), bf16(256));
  EXPECT_EQ(computed("cvt.rzi.s16.f16 %rs1, %h1;", {f16(-3.7f)}), 0xfffdu);
  EXPECT_EQ(computed("cvt.f64.f16 %fd1, %h1;", {f16(-3.5f)}), twice(-3.5));
  EXPECT_EQ(computed("cvt.rn.f16.f64 %h1, %fd1;", {twice(1 + 0x1p-11 + 0x1p-40)}),
            f16(1 + 0x1p-10f)); // once: f32 would hold a tie
  EXPECT_EQ(computed("cvt.rn.bf16.f64 %h1, %fd1;", {twice(1 + 0x1p-8 + 0x1p-40)}),
            bf16(1 + 0x1p-7f));
  EXPECT_EQ(computed("cvt.rmi.f64.f64 %fd1, %fd2;", {twice(-2.5)}), twice(-3));
  EXPECT_EQ(computed("cvt.rni.f16.f16 %h1, %h2;", {f16(2.5f)}), f16(2));
  EXPECT_EQ(computed("cvt.rn.f32.u64 %f1, %rd1;", {~uint64_t(0)}), single(0x1p64f));
  EXPECT_EQ(computed("cvt.rn.f16x2.f32 %r1, %f1, %f2;", {single(1), single(2)}),
            pair(f16(1), f16(2)));
}

TEST(Scalar, Others) {
  EXPECT_EQ(computed("abs.s32 %r1, %r2;", {0xfffffffd}), 3u);
  EXPECT_EQ(computed("abs.s64 %rd1, %rd2;", {~uint64_t(4)}), 5u);
  EXPECT_EQ(computed("prmt.b32 %r1, %r2, %r3, 0x5410;", {0x44332211, 0x88776655, 0x5410}),
            0x66552211u);
  EXPECT_EQ(computed("prmt.b32 %r1, %r2, %r3, 8;", {0x80, 0, 8}), 0x808080ffu);
  EXPECT_EQ(computed("testp.infinite.f32 %p1, %f1;", {single(-INFINITY)}), 1u);
  EXPECT_EQ(computed("testp.number.f64 %p1, %fd1;", {twice(NAN)}), 0u);
  EXPECT_EQ(computed("setp.lt.f64 %p1, %fd1, %fd2;", {twice(-2), twice(-1)}), 1u);
  EXPECT_EQ(computed("setp.lo.u32 %p1, %r1, %r2;", {0xffffffff, 1}), 0u);
  EXPECT_EQ(computed("setp.hs.u32 %p1, %r1, %r2;", {0xffffffff, 1}), 1u);
  EXPECT_EQ(computed("neg.f64 %fd1, %fd2;", {twice(2)}), twice(-2));
  EXPECT_EQ(computed("clz.b32 %r1, %r2;", {1}), 31u);
}

TEST(Scalar, UnknownInstructionsAreFaults) {
  for (const char *text :
       {"add.u8x4 %r1, %r2, %r3;", "add.rz.f32 %f1, %f2, %f3;", "add.sat.s32 %r1, %r2, %r3;",
        "tanh.approx.f16x2 %r1, %r2;", "ex2.approx.f16 %h1, %h2;",
        "dp4a.s32.s32 %r1, %r2, %r3, %r4;", "cvt.rz.f16.f32 %h1, %f1;",
        "cvt.rn.f16x2.e4m3x2 %r1, %rs1;", "setp.lt.f16x2 %p1, %r1, %r2;",
        "setp.lt.and.s32 %p1, %r1, %r2, %p2;", "setp.lt.s32 %p1|%p2, %r1, %r2;"}) {
    std::string given(text);
    size_t sources = size_t(std::count(given.begin(), given.end(), ','));
    EXPECT_THROW(computed(given, std::vector<uint64_t>(sources)), Fault) << text;
  }
}

/// What one thread leaves of a word by an instruction on "[%rd1]" by "%r1" or "%rd2".
uint64_t changed(const std::string &instruction, uint64_t before, uint64_t by) {
  std::string ptx = ".param .u64 ditron_kernel_param_0,\n.param .u64 ditron_kernel_param_1\n{\n"
                    "ld.param.u64 %rd1, [ditron_kernel_param_0];\n"
                    "ld.param.u64 %rd2, [ditron_kernel_param_1];\n"
                    "mov.u32 %r2, %tid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra $done;\n" +
                    instruction + "\n$done:\nret;\n}\n";
  uint64_t word = before;
  Launch launch{{reinterpret_cast<int64_t>(&word), static_cast<int64_t>(by)}, {}, 1, 32, 0, 1};
  execute(ptx, launch);
  return word;
}

TEST(Scalar, AtomicsKnowTypes) {
  EXPECT_EQ(changed("red.global.add.f32 [%rd1], %rd2;", single(1.5f), single(2)), single(3.5f));
  EXPECT_EQ(changed("atom.global.add.f32 %r3, [%rd1], %rd2;", single(-1), single(1)), 0u);
  EXPECT_EQ(changed("red.global.add.f64 [%rd1], %rd2;", twice(1.5), twice(2)), twice(3.5));
  EXPECT_EQ(changed("red.global.add.noftz.f16x2 [%rd1], %rd2;", pair(f16(1), f16(2)),
                    pair(f16(3), f16(4))),
            pair(f16(4), f16(6)));
  EXPECT_EQ(changed("red.global.add.noftz.bf16 [%rd1], %rd2;", bf16(1), bf16(2)), bf16(3));
  EXPECT_EQ(changed("red.global.add.u32 [%rd1], %rd2;", 0xffffffff, 1), 0u);
  EXPECT_EQ(changed("atom.global.or.b32 %r3, [%rd1], %rd2;", 0x5, 0x3), 0x7u);
  EXPECT_EQ(changed("red.global.and.b32 [%rd1], %rd2;", 0x5, 0x3), 0x1u);
  EXPECT_EQ(changed("atom.global.max.s32 %r3, [%rd1], %rd2;", 0xffffffff, 1), 1u);
  EXPECT_EQ(changed("atom.global.min.s32 %r3, [%rd1], %rd2;", 0xffffffff, 1), 0xffffffffu);
  EXPECT_THROW(changed("red.global.max.f32 [%rd1], %rd2;", 0, 0), Fault);
}

} // namespace
} // namespace ditron::emulator
