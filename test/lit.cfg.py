# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The textual tests: each .mlir says in its RUN lines what to run, and in CHECK lines what to expect.
import os

import lit.formats

config.name = "ditron"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.ditron_test_dir
config.environment["PATH"] = os.pathsep.join(
    [config.ditron_programs_dir, config.llvm_tools_dir, os.environ["PATH"]]
)
# Passes are always verified, and a failure shows the input that FileCheck saw.
config.substitutions.append(("%opt", "ditron-opt --verify-each --split-input-file"))
# A GPU that the tests emulate.
emulated = os.path.join(config.ditron_test_dir, "nvidia", "emulated")
config.substitutions.append(
    ("%emulated", f"LD_LIBRARY_PATH={emulated} DITRON_BACKEND=nvidia DITRON_CACHE=0")
)
config.environment["FILECHECK_OPTS"] = "--dump-input-filter=all --allow-unused-prefixes=false"
