/** A reporter of vitest: how long each file took, loading its modules included, as JSON where `--outputFile.seconds` says. */
import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

export interface FileSeconds {
  readonly file: string;
  readonly seconds: number;
}

// oxlint-disable-next-line import/no-default-export -- how vitest finds a reporter
export default class FileSecondsReporter implements Reporter {
  readonly #files: FileSeconds[] = [];
  #output = '';

  onInit({ config: { outputFile } }: Vitest): void {
    const path = typeof outputFile === 'object' ? outputFile['seconds'] : undefined;
    if (path === undefined) throw new Error('say --outputFile.seconds=PATH');
    this.#output = path;
  }

  onTestModuleEnd(module: TestModule): void {
    const { prepareDuration, setupDuration, collectDuration, duration } = module.diagnostic();
    const seconds = (prepareDuration + setupDuration + collectDuration + duration) / 1000;
    this.#files.push({ file: module.relativeModuleId, seconds });
  }

  onTestRunEnd(): void {
    writeFileSync(this.#output, JSON.stringify(this.#files));
  }
}
