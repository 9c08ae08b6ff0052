// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/driver/TaskProgram.h"
#include "ditron/profile/Profiler.h"
#include "model/Step.h"
#include "text/TokenizerSpec.h"
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

namespace generate {

/// UsageError listing the names otherwise.
ditron::Mode parseMode(std::string_view name);
/// The same, or nothing if the name is "automatic": what is fast for a model's weights where they are.
std::optional<ditron::Mode> chooseMode(std::string_view name);

/// A token of a step: it is at this position of one of the sequences.
struct Row {
  Token token;
  int64_t position, sequence;
  bool isWanted; ///< what follows it
};

/// What is said where the logits of a sequence are no numbers.
inline constexpr const char *kNoNumbers =
    "the model's logits are no numbers: its weights are not, or are too large";

/// What a decoder has room for.
struct DecoderSize {
  static constexpr int64_t kPage = 64; ///< positions
  static constexpr int64_t kRows = 64; ///< of a step, at most
  int64_t positions;                   ///< of a sequence
  int64_t sequences = 1;               ///< at a time
  int64_t pages = 0;                   ///< of the cache; 0: what the sequences can take
  /// What keys and values are kept in; nothing: bf16 where rows are rounded to it (Library::rounds), else
  /// f32.
  std::optional<ditron::DType> cacheType = {};
  /// Whether kernels are those of StepShape::streams; nothing: in Mode::megakernel.
  std::optional<bool> streams = {};

  int64_t pagesOf(int64_t places) const { return (places + kPage - 1) / kPage; }
  int64_t allPages() const { return pages ? pages : sequences * pagesOf(positions); }
};

/// Puts weights as decoders read them fastest: on a GPU in bf16, but for f32, and into blocks where they stream through a
/// megakernel; these stay packed where matrices are in Q8_0, and others in bf16. Unless it `copies`, what is in these is undefined.
void arrange(const ditron::Context &ctx, Weights &weights, const DecoderSize &size,
             ditron::Mode mode, bool copies = true);

/// The same, and beside blocks rows in bf16 for steps of more than 8 rows, which are graphs then: as one kernel these would read
/// blocks slowly. Where half of every rank's free memory has room for that; collective.
Weights arranged(const ditron::Context &ctx, Weights weights, const DecoderSize &size,
                 ditron::Mode mode);

/// What decoders of several ranks are asked for alike.
struct PagesOf {
  int64_t sequence;
  std::vector<int64_t> pages;
};
using DecoderCall = std::variant<PagesOf, std::vector<Row>>;

/// A model on a device, with a cache for several sequences. Which pages of it a sequence has is up to
/// the caller.
class Decoder {
public:
  /// `model`: this rank's part, of which the weights are.
  Decoder(const ditron::Context &ctx, const Architecture &model, Weights weights,
          const DecoderSize &size, ditron::Mode mode);
  /// `mode`: as chooseMode gives it. `progress`: see loadWeights.
  Decoder(
      const ditron::Context &ctx, const ModelFile &file, const DecoderSize &size,
      std::optional<ditron::Mode> mode,
      const std::function<void(int64_t)> &progress = [](int64_t) {});
  /// Programs of steps that are made from here on are recorded. The profiler has to outlive the steps.
  void record(ditron::profile::Profiler &profiler) { profiler_ = &profiler; }

  /// From here on tells somebody of each setPages and step before it does them, so that the decoders of
  /// other ranks do them too.
  void tell(std::function<void(DecoderCall)> listener) { listener_ = std::move(listener); }
  /// Does what another decoder has told of.
  void follow(const DecoderCall &call);

  const DecoderSize &size() const { return size_; }
  /// The keys and values of each layer, by page.
  const std::vector<LayerCache> &caches() const { return caches_; }
  /// From the next step on these pages are the sequence's, in this order; no values of those who had them
  /// before are left in them.
  void setPages(int64_t sequence, std::span<const int64_t> pages);
  /// A step with the tiles of this number of rows.
  ditron::TaskGraph graph(int64_t rows) const;
  /// Compiles what steps of `rows` rows need, which the first of them does otherwise.
  void prepare(int64_t rows);
  /// Enqueues a step of 1 to DecoderSize::kRows rows, of which one at least is wanted.
  void step(std::span<const Row> rows);
  /// Enqueues the last step again, which gives the same.
  void again();
  /// Until the steps are done.
  void wait() const { ctx_.sync(); }
  /// After the last step, of wanted row n: the likeliest next token, and the logits of all. Wait for
  /// the step. Nothing where one of the logits is NaN: no token is the likeliest. The logits are nothing
  /// as well where the largest is infinite: no token has a probability.
  std::optional<Token> best(int64_t n) const;
  std::optional<std::vector<float>> logits(int64_t n) const;
  /// Where that is nothing: kNoNumbers, and what was found in their place.
  std::string faultOf(int64_t n) const;

private:
  /// The inputs and outputs of a step with a number of rows, some of them wanted.
  class Exchange {
  public:
    Exchange(const ditron::Context &ctx, int64_t rows, int64_t wanted, int64_t vocabulary);
    void set(std::span<const Row> rows);
    std::vector<Tensor> tensors(const Tensor &pages) const;
    const Tensor &bestOnHost() const;
    const Tensor &logits() const { return logits_; }

  private:
    Tensor token_, position_, sequence_, wanted_, best_, logits_;
    mutable Tensor bestOnHost_; ///< null until it is asked for
  };

  struct Loaded {
    Weights weights;
    ditron::Mode mode;
  };
  static Loaded load(const ditron::Context &ctx, const ModelFile &file, const DecoderSize &size,
                     std::optional<ditron::Mode> mode,
                     const std::function<void(int64_t)> &progress);
  Decoder(const ditron::Context &ctx, const Architecture &model, Loaded loaded,
          const DecoderSize &size);

  void clear(std::span<const int64_t> pages);
  Exchange &exchangeFor(int64_t rows, int64_t wanted);
  bool isOfExactRows(int64_t rows) const;
  /// Those of a step of this number of rows, and whether it is one kernel.
  ditron::Mode modeFor(int64_t rows) const;
  const ditron::TaskProgram &programFor(int64_t rows);

  const ditron::Context &ctx_;
  Architecture model_; ///< this rank's part
  DecoderSize size_;
  ditron::Mode mode_;
  ditron::profile::Profiler *profiler_ = nullptr; ///< null: steps are not recorded
  std::function<void(DecoderCall)> listener_;
  Weights weights_;
  std::vector<LayerCache> caches_;
  Tensor pages_, pagesOnHost_;
  std::map<int64_t, ditron::TaskProgram> programs_; ///< by the rows that tiles are chosen for
  std::map<std::pair<int64_t, int64_t>, Exchange> exchanges_;
  Exchange *last_ = nullptr;
  int64_t lastRows_ = 0;
};

} // namespace generate
