/** The load generator, in a process of its own so that it takes no turn of the measured ones: `node load.ts <plan>`. */
import { createHistogram } from 'node:perf_hooks';
import autocannon, { type Options } from 'autocannon';
import type { LoadPlan, LoadResult } from './offered-load.ts';

const plan = JSON.parse(process.argv[2] ?? '') as LoadPlan;
let sent = plan.firstNumber;
let replies = 0;

if (plan.warmupSeconds > 0) await run(plan.warmupSeconds);
process.stdout.write(JSON.stringify(await run(plan.seconds)));

function run(seconds: number): Promise<LoadResult> {
  const latencies = createHistogram();
  const options: Options = {
    url: plan.url,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...plan.headers },
    connections: plan.connections,
    duration: seconds,
    verifyBody: (body) => !String(body).includes(plan.unwanted),
    ...bodies(),
  };
  return new Promise((resolve, reject) => {
    const running = autocannon(options, (error: Error | null, result) => {
      if (error !== null) return reject(error);
      const { '2xx': good, non2xx, errors, mismatches, duration } = result;
      const ms = (percentile: number): number => latencies.percentile(percentile) / 1000;
      resolve({
        perSecond: good / duration,
        p50Ms: ms(50),
        p95Ms: ms(95),
        p99Ms: ms(99),
        failed: non2xx + errors + mismatches,
        replies,
        lastNumber: sent,
      });
    });
    // The tool's own histogram counts whole milliseconds, too coarse for what is measured here.
    running.on('response', (_client, _status, _bytes, ms) => {
      replies += 1;
      latencies.record(Math.max(1, Math.round(ms * 1000)));
    });
  });
}

/** One constant body is sent as it is; templates are filled anew for each request. */
function bodies(): Pick<Options, 'body' | 'requests'> {
  const [first = ''] = plan.bodies;
  if (plan.bodies.length === 1 && !first.includes('{number}')) return { body: first };
  return {
    requests: [
      {
        setupRequest: (request) => {
          sent += 1;
          const template = plan.bodies[sent % plan.bodies.length] ?? first;
          const slot = String(sent % plan.slots);
          return { ...request, body: template.replaceAll('{number}', String(sent)).replaceAll('{slot}', slot) };
        },
      },
    ],
  };
}
