"""Monitoring data of many drives, of whatever collects it, as times, latencies and throughputs."""
