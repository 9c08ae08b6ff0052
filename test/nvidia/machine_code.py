# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the assembler made of loads: reads the machine code of a cubin, for chips from sm_80 to sm_90a.

An instruction has 16 bytes. Its number is in bits 0 to 11, the address register in bits 24 to 31, the offset in bits 40 to 63, the
size in bits 73 to 75 (6: 16 bytes), the order and scope in bits 77 to 80.
"""
import struct

LOAD_GLOBAL = 0x981
WHOLE = 6        # of 16 bytes
STRONG_SYS = 10  # relaxed or acquire, of the system
PACKET_BYTES = 16


def code(cubin):
    """The instructions of all functions, as numbers of 128 bits."""
    headers, = struct.unpack_from("<Q", cubin, 0x28)
    count, names = struct.unpack_from("<HH", cubin, 0x3c)
    sections = [struct.unpack_from("<IIQQQQ", cubin, headers + 64 * n) for n in range(count)]
    texts = sections[names][4]
    for name, _, _, _, offset, size in sections:
        start = texts + name
        if cubin[start:cubin.index(b"\0", start)].startswith(b".text"):
            for low, high in struct.iter_unpack("<QQ", cubin[offset:offset + size]):
                yield low | high << 64


def loads_of_system(cubin):
    """(size, register, offset) of each load that is ordered with the other ranks, as they stand."""
    for word in code(cubin):
        if word & 0xfff == LOAD_GLOBAL and word >> 77 & 15 == STRONG_SYS:
            yield word >> 73 & 7, word >> 24 & 255, word >> 40 & 0xffffff


def packets(cubin):
    """How many packets of 16 bytes are read as a whole, and how many in pieces: by loads behind one another."""
    whole = split = 0
    before = None
    for size, register, offset in loads_of_system(cubin):
        place = register, offset // PACKET_BYTES
        whole += size == WHOLE
        split += size != WHOLE and before is not None and before[0] == place and before[1] != offset
        before = (place, offset) if size != WHOLE else None
    return whole, split
