//! Congestion load on the packet level: a leaky bucket with exponential gaps.
