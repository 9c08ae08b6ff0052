// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Program.h"
#include "ditron/driver/GraphRecording.h"
#include "ditron/driver/ProgramImpl.h"

namespace ditron {

void Program::launch(const std::vector<KernelArgument> &arguments) const {
  impl_->executable->launch(arguments, ownStream(*impl_->device), nullptr);
}
void Program::launch(const std::vector<KernelArgument> &arguments, const Stream &stream,
                     const std::shared_ptr<const runtime::LaunchTasks> &tasks) const {
  impl_->executable->launch(arguments, stream.handle(), tasks);
}
LaunchStats Program::timedLaunch(const std::vector<KernelArgument> &arguments) const {
  return impl_->executable->timed(arguments, ownStream(*impl_->device));
}
Timing Program::launchTimed(const std::vector<KernelArgument> &arguments) const {
  return Timing(impl_->executable->launchTimed(arguments, ownStream(*impl_->device)));
}
void Program::prepare(const std::vector<KernelArgument> &arguments) const {
  impl_->executable->prepare(arguments);
}
CompileReport Program::report() const { return impl_->executable->report(); }
int Program::cores() const { return impl_->executable->cores(); }
const Signature &Program::signature() const { return impl_->source->kernel().signature(); }
void Program::poison() const { impl_->executable->poison(); }

} // namespace ditron
