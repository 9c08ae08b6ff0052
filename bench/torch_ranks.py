#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank of PyTorch's tensor-parallel steps, as bench/decode.py starts it: each rank has its heads and its part of the
feed-forward layers and of the vocabulary, and NCCL adds what the ranks have.

usage: torch_ranks.py RANK RANKS PORT OPTIONS

OPTIONS is a JSON object: sizes, dtype, batch, context, peers. Rank 0 says {"torch": VERSION} when all are ready. Then it
takes seconds from stdin, line by line, and answers {PEER: SECONDS}: of a step, the largest of the ranks' medians.
Multicast is off.
"""
import json
import os
import statistics
import sys

RANK, RANKS, PORT = (int(word) for word in sys.argv[1:4]) if len(sys.argv) == 5 else (0, 1, 0)
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT), NCCL_NVLS_ENABLE="0")

import torch  # noqa: E402: reads the variables above
import torch.distributed as dist  # noqa: E402

import torch_decoder  # noqa: E402


class Part(torch_decoder.Decoder):
    """What one rank has of the model."""

    def __init__(self, sizes, *rest):
        whole = sizes["vocabulary"]
        divided = {name: sizes[name] // RANKS for name in ("heads", "key_heads", "feed_forward")}
        super().__init__({**sizes, **divided}, *rest)
        self.words = -(-whole // RANKS)
        self.head_weights = self.head_weights[RANK * self.words:(RANK + 1) * self.words].clone()
        self.found = torch.empty(RANKS, 2, self.batch, device="cuda")

    def summed(self, part):
        dist.all_reduce(part)
        return part

    def best(self, logits):
        values, words = logits.max(-1)
        own = torch.stack((values, (words + RANK * self.words).float()))  # f32 tells words below 2^24 apart
        dist.all_gather_into_tensor(self.found, own)
        first = self.found[:, 0].argmax(0, keepdim=True)
        return self.found[:, 1].gather(0, first)[0].long()


def largest(seconds):
    value = torch.tensor([seconds], device="cuda", dtype=torch.float64)
    dist.all_reduce(value, dist.ReduceOp.MAX)
    return value.item()


def serve(options):
    sizes, context = options["sizes"], options["context"]
    decoder = Part(sizes, torch_decoder.DTYPES[options["dtype"]], options["batch"], context, 1, "cuda")
    peers = {name: torch_decoder.Peer(name, decoder, context, "cuda") for name in options["peers"]}
    dist.barrier()
    if RANK == 0:
        print(json.dumps({"torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        answer = {}
        for name, peer in peers.items():
            dist.barrier()
            answer[name] = largest(statistics.median(peer.times(float(line), batches=max(3, int(float(line) / 0.05)))))
        if RANK == 0:
            print(json.dumps(answer), flush=True)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    torch.cuda.set_device(RANK)
    dist.init_process_group("nccl", rank=RANK, world_size=RANKS, device_id=torch.device("cuda", RANK))
    with torch.inference_mode():
        serve(json.loads(sys.argv[4]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
