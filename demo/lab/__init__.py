# SPDX-License-Identifier: BSD-3-Clause
"""The laboratory: a cluster in network namespaces, its traffic's captures and what they prove. Used by the demo, the tests and the
benchmarks. Standard library only."""
