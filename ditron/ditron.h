// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All of ditron that a program needs.
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/lang/Kernel.h"
