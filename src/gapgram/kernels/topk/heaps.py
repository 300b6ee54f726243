"""Numbers in order, by heaps: what Numba has for that takes seconds to compile."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel


@kernel
def _sift(heap, at, size):
    """Let the number at a place sink below larger ones; in a heap none is larger than the one at half its place."""
    number = heap[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= number:
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = number


@kernel
def sort(numbers):
    """Sort an array in place, rising."""
    for at in range(numbers.size // 2 - 1, -1, -1):
        _sift(numbers, at, numbers.size)
    for last in range(numbers.size - 1, 0, -1):
        largest = numbers[0]
        numbers[0] = numbers[last]
        numbers[last] = largest
        _sift(numbers, 0, last)


@kernel
def distinct(numbers):
    """The numbers of an array, which is sorted, each once, rising."""
    sort(numbers)
    n = min(numbers.size, 1)
    for i in range(1, numbers.size):
        if numbers[i] != numbers[i - 1]:
            numbers[n] = numbers[i]
            n += 1
    return numbers[:n]


@kernel
def kth_largest(numbers, k):
    """The k-th largest of at least k numbers, none of them NaN."""
    heap = np.empty(k)  # the k largest so far, negative: the first is the least of them
    for i in range(k):
        heap[i] = -numbers[i]
    for at in range(k // 2 - 1, -1, -1):
        _sift(heap, at, k)
    for i in range(k, numbers.size):
        if -numbers[i] < heap[0]:
            heap[0] = -numbers[i]
            _sift(heap, 0, k)
    return -heap[0]


@kernel
def largest_of(numbers):
    """The largest of some numbers, of which there is one."""
    largest = numbers[0]
    for i in range(1, numbers.size):
        if numbers[i] > largest:
            largest = numbers[i]
    return largest
