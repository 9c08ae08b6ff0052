#pragma once
#include <string>
#include <string_view>
namespace ditron::device {
inline bool isOrder(std::string_view n) { return n=="row-major"||n=="grouped"||n=="own-shard-first"||n=="next-rank-first"; }
inline std::string orderNames() { return "row-major, grouped, own-shard-first, next-rank-first"; }
}
