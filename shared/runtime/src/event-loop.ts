/** How long the event loop lets things wait. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from './metrics.ts';

interface EventLoopWatch {
  /** Of the last whole second; a stall that stands alone counts from about 0.4 s. */
  delayMs(): number;
  /** What was until now counts no longer: a start keeps the loop busy, and nobody waits for it meanwhile. */
  restart(): void;
  close(): void;
}

const WINDOW_MS = 1000;
/** Each look wakes the process, one that has nothing to do too. What the loop does in less time may pass between two. */
const LOOK_EVERY_MS = 100;
/** Of ten looks the longest is left out: one stall, as of a first search, takes no gateway out of its balancer. */
const PERCENTILE = 85;

export function watchEventLoop(metrics: Metrics): EventLoopWatch {
  const gauge = metrics.gauge(
    'svc_event_loop_delay_seconds',
    'Event loop delay in a second, 85th percentile of its looks.',
  );
  const histogram = monitorEventLoopDelay({ resolution: LOOK_EVERY_MS });
  let delayMs = 0;
  histogram.enable();
  const timer = setInterval(() => {
    // It tells the time from one look to the next; none = the loop was busy throughout, which the next window tells.
    delayMs = Math.max(0, histogram.percentile(PERCENTILE) / 1e6 - LOOK_EVERY_MS);
    gauge.set(delayMs / 1000);
    histogram.reset();
  }, WINDOW_MS);
  timer.unref();
  return {
    delayMs: () => delayMs,
    restart() {
      delayMs = 0;
      gauge.set(0);
      histogram.reset();
      timer.refresh();
    },
    close() {
      clearInterval(timer);
      histogram.disable();
    },
  };
}
