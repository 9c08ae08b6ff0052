// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choices that several kernels have: their parameters, what is chosen where nothing is given
// (ditron/heuristics knows), and the configuration of a kernel that they make.
#pragma once
#include "ditron/heuristics/Communication.h"
#include "ditron/heuristics/GemmTiles.h"
#include "ditron/kernels/Config.h"
#include "ditron/kernels/Reference.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

//===-- Products ------------------------------------------------------------------------------===//

/// The parameters m, n, k and group of a product.
std::vector<ConfigParameter> gemmParameters();
GemmTile gemmTile(const Config &config);
/// The parameter of a tile's Pairs, and a tile with them.
ConfigParameter pairsParameter();
PairedTile pairedTile(const Config &config);
/// Changes the tile of a configuration that has one with pairs.
void setTile(Config &config, const PairedTile &tile);
/// The parameter of a kernel's Accuracy.
ConfigParameter accuracyParameter();

/// The parameter of a GemmConfig's parts of K, which not all products have.
ConfigParameter partsParameter();
/// The parameter of a GemmConfig's workers, likewise.
ConfigParameter workersParameter();

/// The parameter of what operands a product reads, which not all have.
ConfigParameter operandsParameter();

/// Whether rows of both operands are whole 16 bytes, as TMA loads them.
bool hasWholeRows(const Problem &problem, const Config &config);
/// A machine's rates where they are not: products are slow.
heuristics::Calibration ratesOfOddRows(const Problem &problem);
/// A product whose operands are packed, as tiles are chosen for it.
heuristics::GemmShape packedShape(heuristics::GemmShape shape);

/// The parameters of a GemmConfig, a configuration of them without an epilogue, and what they make.
std::vector<ConfigParameter> epilogueParameters();
Config epilogueDefaults(const PairedTile &tile);
GemmConfig gemmConfig(const Config &config);
/// What the tile of such a product is chosen for.
heuristics::GemmNeeds gemmNeeds(const Config &config);

/// A problem's product of `rows` rows, as tiles are chosen for it; of M rows, with B as a configuration says.
heuristics::GemmShape gemmShape(const Problem &problem, int64_t rows, bool isKMajor = false);
heuristics::GemmShape gemmShape(const Problem &problem, const Config &config);

//===-- Rows ----------------------------------------------------------------------------------===//

/// The parameters of a RowConfig, and a good choice.
std::vector<ConfigParameter> rowParameters();
Config rowDefaults(const Problem &problem);
/// The same for a kernel that need not have a whole row.
Config elementDefaults(const Problem &problem);
RowConfig rowConfig(const Config &config);

//===-- Chunks --------------------------------------------------------------------------------===//

/// The parameters of a ChunkConfig, and a good choice for a matrix of `rows` x `columns`, to move
/// it or to sum it.
std::vector<ConfigParameter> chunkParameters();
Config movedChunks(const Problem &problem, int64_t rows, int64_t columns);
/// The same for a matrix of which cores move a part that is known only at run time.
Config spreadChunks(const Problem &problem, int64_t rows, int64_t columns);
Config summedChunks(int64_t rows, int64_t columns);
ChunkConfig chunkConfig(const Config &config);

/// The parameter of the chunks that copy engines send; beside one named "engine".
ConfigParameter chunksParameter(std::vector<int64_t> candidates);
inline constexpr int64_t kByCopyEngines = 1; ///< of "engine"

/// The parameters of a TransferConfig: those of chunks, what moves the data, and in how many parts.
std::vector<ConfigParameter> transferParameters();
/// A good choice of them to move a matrix of `rows` x `columns`, or to sum it.
Config movedTransfer(const Problem &problem, int64_t rows, int64_t columns,
                     const heuristics::Traffic &traffic);
Config summedTransfer(const Problem &problem, int64_t rows, int64_t columns,
                      const heuristics::Traffic &traffic);
TransferConfig transferConfig(const Config &config);
/// CompileError where an option has no effect beside the others.
void checkTransfer(std::string_view kernel, const TransferConfig &config);
/// What every kernel of transfers is checked and tested with; `more` goes behind each configuration.
std::vector<CheckCase> transferCheckCases(const std::string &more = {});
std::vector<std::string> transferVariants(const std::string &more = {});
/// What the entries of kernels have in common that move a matrix of one rank to another.
KernelEntry matrixEntry(std::string name, std::string summary, Collective collective);

} // namespace ditron::kernels
