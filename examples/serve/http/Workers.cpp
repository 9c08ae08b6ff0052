// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/Workers.h"
#include "ditron/support/StartThread.h"
#include <fmt/format.h>

namespace serve {

Workers::Workers(int64_t count) {
  std::string name = fmt::format("one of {} threads that answer connections (--max-batch and "
                                 "--max-queue make them so many)",
                                 count);
  try {
    for (int64_t n = 0; n < count; ++n)
      threads_.push_back(ditron::startThread(name, [this] { work(); }));
  } catch (...) {
    shutdown();
    throw;
  }
}

Workers::~Workers() { shutdown(); }

void Workers::enqueue(std::function<void()> job) {
  {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return jobs_.size() < threads_.size(); });
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void Workers::shutdown() {
  {
    std::lock_guard guard(lock_);
    isEnding_ = true;
  }
  changed_.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
  threads_.clear();
}

void Workers::work() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock guard(lock_);
      changed_.wait(guard, [&] { return isEnding_ || !jobs_.empty(); });
      if (jobs_.empty())
        return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    changed_.notify_all();
    job();
  }
}

} // namespace serve
