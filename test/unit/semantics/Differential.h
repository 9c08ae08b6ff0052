// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a kernel twice, compiled for the backend that DITRON_BACKEND names and in the reference
// interpreter, on equal memory, and compares all of the memory afterwards.
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/lang/Kernel.h"
#include <cstddef>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace ditron::differential {

using Shape = std::vector<int64_t>;

/// Whether the backend's cores are those of the CPU, as many as a test asks for, with the host's memory.
bool isOnCpu();

/// How a tensor lies in memory.
enum class Placement {
  dense,
  padded,     ///< rows further apart than they are long
  transposed, ///< column-major: the last dimension has the largest stride
  strided,    ///< every third element of the last dimension
  reversed,   ///< all strides negative
};
inline constexpr Placement kPlacements[] = {Placement::dense, Placement::padded,
                                            Placement::transposed, Placement::strided,
                                            Placement::reversed};
const char *name(Placement placement);

/// A tensor in a block of memory of its own, with gaps where its placement has them.
class Block {
public:
  Block(DType type, Shape shape, Placement placement = Placement::dense);

  DType type() const { return type_; }
  const Shape &shape() const { return shape_; }
  const Shape &strides() const { return strides_; }
  int64_t elements() const;
  /// Element `n` in row-major order.
  void *element(int64_t n);
  double at(int64_t n) { return loadElement(type_, element(n)); }
  /// Sets element n to element(n), a double or an int64_t.
  Block &fill(const std::function<double(int64_t)> &value);
  Block &fillIntegers(const std::function<int64_t(int64_t)> &value);
  /// Random values: floats of [-2, 2], integers of the whole range, in equal parts with small ones.
  Block &fillRandom(uint64_t seed);
  /// Random bits, so every float is as probable, NaN and infinities too.
  Block &fillBits(uint64_t seed);

  std::vector<std::byte> &bytes() { return bytes_; }
  const std::vector<std::byte> &bytes() const { return bytes_; }
  /// Bytes from the start of the memory to the element with all indices zero.
  int64_t origin() const { return origin_ * static_cast<int64_t>(byteSize(type_)); }

private:
  DType type_;
  Shape shape_, strides_;
  int64_t origin_ = 0;
  std::vector<std::byte> bytes_;
};

/// An argument: memory, an Index, or a Scalar.
using Argument = std::variant<Block, int64_t, double>;

/// How far a float of the compiled kernel may be from the interpreter's.
struct Tolerance {
  double ulps = 0; ///< of the element type at the expected value
  double absolute = 0;
};

/// Whether the threads of a GPU have registers and shared memory for a kernel's tiles, as CPUs have.
enum class Room { enough, tooLittleOnGpus };

/// Runs `kernel` both ways and compares every element of all memory, and every byte between the
/// elements. Integers, and floats without a tolerance, are to be equal; a NaN equals a NaN. Where GPUs have too little room
/// for it, they have to refuse it, and nothing is compared.
void expectSame(const Kernel &kernel, const std::vector<Argument> &arguments,
                const Tolerance &tolerance = {}, int cores = 1, Room room = Room::enough);
/// The same of kernels of which nobody knows whether a GPU has room for them: it has for half of a test's, at least.
class Fitting {
public:
  void expectSame(const Kernel &kernel, const std::vector<Argument> &arguments);
  void expectHalf() const;
  int64_t all() const { return all_; }
  int64_t ran() const { return ran_; }

private:
  int64_t all_ = 0, ran_ = 0;
};

/// Runs `kernel` both ways: both end with an error that has `text` in it; the compiled kernel's is
/// a RuntimeError that names a line of this program and, on CPUs, rank, core and kernel.
void expectRefused(const std::string &text, const Kernel &kernel,
                   const std::vector<Argument> &arguments);

/// The memory of argument n after the compiled kernel ran.
std::vector<Argument> runCompiled(const Kernel &kernel, std::vector<Argument> arguments,
                                  int cores = 1);

/// The numbers of the random programs that a test makes: DITRON_TEST_PROGRAMS of them, from DITRON_TEST_SEED on.
struct Programs {
  uint64_t first, end;
};
Programs randomPrograms(int64_t usualCount);

/// Values of a type where arithmetic is delicate: zeros, ones, limits, infinities, NaN.
std::vector<double> delicateFloats(DType type);
std::vector<int64_t> delicateIntegers(DType type);

/// Distance between two neighbouring values of a float type at `value`.
double ulpOf(DType type, double value);

} // namespace ditron::differential
