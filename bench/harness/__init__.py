# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run measures, and with what. The network comes from demo/lab."""
