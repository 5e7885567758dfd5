# SPDX-License-Identifier: BSD-3-Clause
"""What the demo shows: a live picture on a terminal, plain lines elsewhere."""
