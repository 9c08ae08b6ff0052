// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lessons share: filling tensors and comparing them, on the host, element by element.
#pragma once
#include <cmath>
#include <cstdio>
#include <ditron/ditron.h>
#include <exception>
#include <vector>

namespace lesson {

using ditron::Tensor;

/// Calls fn(i, j) for every element of a tensor of one dimension (i is 0) or two.
template <class Fn> void forEach(const Tensor &tensor, const Fn &fn) {
  const std::vector<int64_t> &shape = tensor.shape();
  int64_t rows = shape.size() == 2 ? shape[0] : 1;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < shape.back(); ++j)
      fn(i, j);
}

/// The index of element (i, j) of a tensor of one or two dimensions.
inline std::vector<int64_t> index(const Tensor &tensor, int64_t i, int64_t j) {
  return tensor.dims() == 2 ? std::vector<int64_t>{i, j} : std::vector<int64_t>{j};
}

/// Element (i, j) becomes value(i, j): made on the host, and copied to where the tensor is.
template <class Fn> void fill(Tensor &tensor, const Fn &value) {
  Tensor host = Tensor::own(tensor.dtype(), tensor.shape());
  forEach(host, [&](int64_t i, int64_t j) { host.set(index(host, i, j), value(i, j)); });
  tensor.copyFrom(host);
}

/// Throws ditron::Error at the first element that is not expected(i, j), within a tolerance. The
/// copy to the host waits for the launches before it, and throws the error of one that failed.
template <class Fn>
void check(const Tensor &tensor, const char *name, const Fn &expected, double tolerance = 0) {
  Tensor host = tensor.toHost();
  forEach(host, [&](int64_t i, int64_t j) {
    double found = host.at(index(host, i, j)), wanted = expected(i, j);
    if (!(std::abs(found - wanted) <= tolerance))
      throw ditron::Error(std::string(name) + "(" + std::to_string(i) + ", " + std::to_string(j) +
                          ") is " + std::to_string(found) + ", expected " + std::to_string(wanted));
  });
}

/// Runs a lesson; the exit status of its program.
template <class Body> int run(const char *title, const Body &body) {
  try {
    body();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: WRONG: %s\n", title, error.what());
    return 1;
  }
  std::printf("%s: verified\n", title);
  return 0;
}

} // namespace lesson
