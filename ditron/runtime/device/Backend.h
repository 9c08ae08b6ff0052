// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a backend tells of itself before any of its devices is opened.
#pragma once
#include "ditron/runtime/device/Device.h"

namespace ditron::runtime {

struct BackendTraits {
  bool coresAreChosen = true;       ///< Options::cores says how many cores a rank has
  bool ranksMayBeProcesses = false; ///< and not only threads of one
  bool timesMatter = true;          ///< it is made to be fast
};

class Backend {
public:
  virtual ~Backend() = default;
  virtual BackendTraits traits() const = 0;
  /// Why this machine cannot use it; empty: it can.
  virtual std::string whyNot() const { return ""; }
  /// What kernels of its devices are compiled for, as Device::target, and what these are called.
  virtual std::string target() const = 0;
  virtual std::string deviceName() const = 0;
  /// How many devices so many ranks run on, where devices are counted, else 0. UnavailableError
  /// where there are too few.
  virtual int devices(int ranks) const { return 0; }
  /// The options of the ranks that stand for its devices on the host: how many cores they have
  /// there.
  virtual Options hostOptions(const Options &options) const = 0;
  /// The devices of this process. UnavailableError where the machine has none.
  virtual std::shared_ptr<Platform> open(const Options &options) const = 0;
};

} // namespace ditron::runtime
