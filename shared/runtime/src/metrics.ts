/** Prometheus metrics. Labels are bounded: tool names, codes, services; never ids. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Sets the gauge as it is now; runs whenever somebody reads the metrics. */
type ReadGauge<Label extends string> = (gauge: Gauge<Label>) => void | Promise<void>;

export interface Metrics {
  readonly registry: Registry;
  counter<Label extends string>(name: string, help: string, labels?: readonly Label[]): Counter<Label>;
  gauge<Label extends string>(
    name: string,
    help: string,
    labels?: readonly Label[],
    read?: ReadGauge<Label>,
  ): Gauge<Label>;
  histogram<Label extends string>(name: string, help: string, labels?: readonly Label[]): Histogram<Label>;
}

/** From a tenth of a millisecond to the longest deadline. */
const SECONDS_BUCKETS = [
  0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120,
];

/** Several parts of one process may ask for the same metric; they share it. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const readings = new Map<string, ReadGauge<string>[]>();
  function once<Kind>(name: string, create: () => Kind): Kind {
    return (registry.getSingleMetric(name) as Kind | undefined) ?? create();
  }
  const registers = [registry];
  function newGauge<Label extends string>(name: string, help: string, labels: readonly Label[]): Gauge<Label> {
    const reads: ReadGauge<string>[] = [];
    readings.set(name, reads);
    const gauge: Gauge<Label> = new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers,
      async collect() {
        // one part that cannot tell leaves out its figure, not everybody's
        await Promise.allSettled(reads.map(async (read) => read(gauge as unknown as Gauge<string>)));
      },
    });
    return gauge;
  }
  return {
    registry,
    counter: (name, help, labels = []) =>
      once(name, () => new Counter({ name, help, labelNames: [...labels], registers })),
    gauge<Label extends string>(
      name: string,
      help: string,
      labels: readonly Label[] = [],
      read?: ReadGauge<Label>,
    ): Gauge<Label> {
      const gauge = once(name, () => newGauge(name, help, labels));
      if (read !== undefined) readings.get(name)?.push(read);
      return gauge;
    },
    histogram: (name, help, labels = []) =>
      once(name, () => new Histogram({ name, help, labelNames: [...labels], buckets: SECONDS_BUCKETS, registers })),
  };
}
