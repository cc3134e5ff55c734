/** How long the event loop lets things wait. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from './metrics.ts';

interface EventLoopWatch {
  /** Of the last whole second, 99th percentile. */
  delayMs(): number;
  close(): void;
}

const WINDOW_MS = 1000;

export function watchEventLoop(metrics: Metrics): EventLoopWatch {
  const gauge = metrics.gauge('svc_event_loop_delay_seconds', 'Event loop delay, 99th percentile of a second.');
  const histogram = monitorEventLoopDelay({ resolution: 10 });
  let delayMs = 0;
  histogram.enable();
  const timer = setInterval(() => {
    delayMs = histogram.percentile(99) / 1e6;
    gauge.set(delayMs / 1000);
    histogram.reset();
  }, WINDOW_MS);
  timer.unref();
  return {
    delayMs: () => delayMs,
    close() {
      clearInterval(timer);
      histogram.disable();
    },
  };
}
