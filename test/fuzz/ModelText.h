// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of a language model as a text, so that changes of its words are changes of fields. The
// first line says which:
//
//   gguf VERSION                  a GGUF file, of the lines
//     key NAME TYPE VALUE           TYPE is a name of the format's, or a number
//     list NAME TYPE VALUE..        texts in lists have ~ for a blank
//     tensor NAME TYPE OFFSET SIZE..
//     tensors COUNT, keys COUNT     says another count than there are
//   hub                           a folder, of files that lines `file NAME` begin. The text behind
//                                 is theirs; that of .safetensors files is a header, to which
//     length BYTES                  says another length than it has
//
// In all files
//
//   data BYTES                    adds a number of bytes behind what there is
//   byte POSITION VALUE           changes a byte
//   cut BYTES                     shortens it
//
// Any other text is a GGUF file of its own bytes.
#pragma once
#include <filesystem>
#include <string>

namespace ditron::fuzz {

/// Writes the files into a folder. What `generate` is to open.
std::filesystem::path writeModel(const std::filesystem::path &folder, const std::string &text);

} // namespace ditron::fuzz
