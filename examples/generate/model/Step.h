// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/task/TaskGraph.h"
#include "model/Weights.h"

namespace generate {

/// Keys and values of a layer, in pages: by page, head and position.
struct LayerCache {
  Tensor keys, values;
};

/// What kernels of a step are chosen by.
struct StepShape {
  int64_t rows;          ///< of tokens, at most; 1: one row
  int64_t exactRows = 0; ///< how many there are; 0: any number up to `rows`
  bool streams =
      false; ///< weights of few rows come through a megakernel on end: sums have another order
  int64_t sequences = 0, pages = 0; ///< of the table; 0: any
};

/// One step of a model as a graph: step(token[T], position[T], sequence[T], pages[B,L], wanted[W]) ->
/// best[W], logits[W,V]. Row t is a token, its place in its sequence and which sequence that is (all
/// i32); a row at position -1 is none. The rows are of any of B sequences, whose pages of the caches
/// the table lists, and a sequence's rows follow one another: a prompt takes many of one step. Of the
/// rows that are wanted the step gives the logits of the token behind, and the one with the largest.
/// Results have the same bits whatever the number of rows is, on CPUs and in the interpreter.
ditron::TaskGraph stepOf(const ditron::Context &ctx, const Architecture &model,
                         const Weights &weights, const std::vector<LayerCache> &caches,
                         const StepShape &shape);

} // namespace generate
