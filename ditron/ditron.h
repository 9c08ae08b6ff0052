// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All of ditron that a program needs: the language, contexts and programs on every backend, and the
// kernel library. Handles of other libraries, and how they come in, are in ditron/interop.
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Distribute.h"
#include "ditron/lang/Inbox.h"
#include "ditron/lang/Kernel.h"
