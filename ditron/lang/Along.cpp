// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/FormTeams.h"
#include "ditron/lang/KernelCopy.h"
#include "ditron/support/MeshAxes.h"
#include <fmt/format.h>

namespace ditron {

Kernel Kernel::along(Mesh axis, Location where) const {
  if (axis == Mesh::world)
    return *this;
  detail::KernelCopy copy(*this, name(), "along", where);
  if (!isAxisName(axis.name()))
    copy.fail("the name of an axis of the mesh is a letter, then letters, digits or _, at most 15 "
              "of them");
  if (!device::isOfRanks(copy.function()))
    copy.fail(fmt::format("it is a kernel of one device, expected one of several ranks to run "
                          "along axis '{}'",
                          axis.name()));
  copy.run([&] { return device::formTeams(copy.module(), llvm::StringRef(axis.name())); },
           "it cannot run along an axis");
  Kernel result = *this;
  result.traced_ = copy.finish();
  return result;
}

} // namespace ditron
