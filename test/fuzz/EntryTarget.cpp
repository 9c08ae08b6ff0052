// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry of the kernel cache, of any bytes.
#include "FuzzTargets.h"
#include "OwnFolder.h"
#include "ditron/compiler/Cache.h"
#include <fstream>

namespace ditron::fuzz {

namespace {

void read(std::string_view bytes) {
  const std::string key(32, 'a');
  OwnFolder folder;
  KernelCache cache(folder.path());
  cache.store(key, "entry");
  std::ofstream(cache.file(key), std::ios::binary | std::ios::trunc) << bytes;
  allowErrors([&] { (void)cache.find(key); });
}

} // namespace

const Target entryTarget = {"entry", read};

} // namespace ditron::fuzz
