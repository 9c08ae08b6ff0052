// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/HubRope.h"
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <optional>
#include <string_view>

namespace generate {

namespace {

constexpr std::string_view kParameters = "rope_parameters", kScaling = "rope_scaling";

/// One of the two objects that say what rope does.
struct Form {
  const std::string &path;
  std::string_view key;
  const Json &json;

  bool has(const char *name) const { return json.contains(name) && !json.at(name).is_null(); }
  double number(const char *name) const { return field<double>(path, json, name); }
  double positive(const char *name) const {
    double found = number(name);
    if (!(found > 0 && std::isfinite(found)))
      failJson(path, fmt::format("{}.{} is {}, expected more than 0", key, name, found));
    return found;
  }
};

void check(const Form &form) {
  if (!form.json.is_object())
    failJson(form.path, fmt::format("{} is {}, expected an object", form.key, form.json.dump()));
  for (const auto &[name, value] : form.json.items())
    if (value.is_object())
      failJson(form.path, fmt::format("{}.{} is an object, expected the same rope in all layers",
                                      form.key, name));
  if (double share = field<double>(form.path, form.json, "partial_rotary_factor", 1); share != 1)
    failJson(form.path, fmt::format("{}.partial_rotary_factor is {}, expected 1", form.key, share));
}

/// The objects that are there.
std::vector<Form> formsOf(const std::string &path, const Json &config) {
  std::vector<Form> forms;
  for (std::string_view key : {kParameters, kScaling})
    if (config.contains(key) && !config.at(key).is_null()) {
      forms.push_back({path, key, config.at(key)});
      check(forms.back());
    }
  return forms;
}

std::string kindOf(const Form &form) {
  if (!form.has("rope_type") && !form.has("type") && form.has("factor"))
    failJson(form.path,
             fmt::format("{} has a factor, but no rope_type: expected both, or none", form.key));
  auto old = field<std::string>(form.path, form.json, "type", "default");
  auto kind = field<std::string>(form.path, form.json, "rope_type", old);
  if (kind != "default" && kind != "linear" && kind != "llama3")
    failJson(form.path,
             fmt::format("{} is of type '{}', expected default, linear or llama3", form.key, kind));
  return kind;
}

/// Llama 3's: low frequencies are divided by the factor, high ones are not, others in between.
double llama3Factor(const Form &form, double frequency) {
  double factor = form.positive("factor"), low = form.positive("low_freq_factor");
  double high = form.positive("high_freq_factor");
  double length = form.positive("original_max_position_embeddings");
  if (low >= high)
    failJson(form.path, fmt::format("{}.high_freq_factor is {}, expected more than {}, the "
                                    "low_freq_factor",
                                    form.key, high, low));
  double turns = length * frequency / (2 * std::numbers::pi);
  if (turns < low)
    return factor;
  if (turns > high)
    return 1;
  double share = (turns - low) / (high - low);
  return 1 / ((1 - share) / factor + share);
}

std::vector<double> factorsOf(const Form &form, const Architecture &architecture) {
  std::string kind = kindOf(form);
  int64_t pairs = architecture.headSize / 2;
  std::vector<double> factors(size_t(pairs), 1);
  for (int64_t pair = 0; pair < pairs && kind != "default"; ++pair) {
    double frequency = std::pow(architecture.ropeBase, -double(pair) / double(pairs));
    factors[size_t(pair)] =
        kind == "linear" ? form.positive("factor") : llama3Factor(form, frequency);
  }
  return factors;
}

} // namespace

double readHubRopeBase(const std::string &path, const Json &config) {
  constexpr const char *kBase = "rope_theta";
  std::optional<double> base;
  std::string place;
  auto take = [&](const std::string &name, const Json &object) {
    if (!object.contains(kBase) || object.at(kBase).is_null())
      return;
    auto found = field<double>(path, object, kBase);
    if (base && *base != found)
      failJson(path, fmt::format("{} is {}, and {} is {}: expected one of them, or the same twice",
                                 place, *base, name, found));
    base = found;
    place = name;
  };
  take(kBase, config);
  std::vector<Form> forms = formsOf(path, config);
  for (const Form &form : forms)
    take(fmt::format("{}.{}", form.key, kBase), form.json);
  if (!base && !forms.empty() && forms.front().key == kParameters)
    failJson(path, fmt::format("{}.{} is missing", kParameters, kBase));
  return base.value_or(10000);
}

std::vector<double> readHubRopeFactors(const std::string &path, const Json &config,
                                       const Architecture &architecture) {
  std::vector<double> factors;
  for (const Form &form : formsOf(path, config)) {
    std::vector<double> found = factorsOf(form, architecture);
    if (!factors.empty() && factors != found)
      failJson(path, fmt::format("{} and {} give other factors: expected one of them, or the same "
                                 "twice",
                                 kParameters, kScaling));
    factors = found;
  }
  return factors;
}

} // namespace generate
