import { describe, expect, it } from 'vitest';
import { parseProgress, TransferOutput } from './transfer-output.ts';

describe('parseProgress', () => {
  it.each([
    ['Receiving objects:  45% (450/1000), 1.20 MiB | 500.00 KiB/s', { stage: 'receiving', percent: 45 }],
    ['Receiving objects: 100% (3/3), done.', { stage: 'receiving', percent: 100 }],
    ['remote: Counting objects:   7% (1/14)        ', { stage: 'counting', percent: 7 }],
    ['remote: Enumerating objects: 512, done.        ', { stage: 'counting', percent: null }],
    ['Writing objects:   0% (1/2003)', { stage: 'writing', percent: 0 }],
    ['remote: Resolving deltas: 900% (9/1), done.', { stage: 'resolving', percent: 100 }],
    ['remote: Winning prizes: 50% (1/2)', null],
    ['remote: error: GH001: Large files detected.', null],
    ['fatal: early EOF', null],
    ['', null],
  ])('%s', (line, progress) => {
    expect(parseProgress(line)).toEqual(progress);
  });
});

describe('TransferOutput', () => {
  const through = (limit: number, ...chunks: (string | Buffer)[]) => {
    const output = new TransferOutput(limit);
    const progress = chunks.map((chunk) => output.read(Buffer.from(chunk)));
    return { progress, text: output.text() };
  };

  it('tells progress from words, wherever the bytes are cut', () => {
    const said = 'Receiving objects:  10% (1/10)\rReceiving objects:  20% (2/10)\rremote: grüße\r\nfatal: early EOF\n';
    const whole = through(8192, said);
    expect(whole).toEqual({
      progress: [{ stage: 'receiving', percent: 20 }],
      text: 'remote: grüße\nfatal: early EOF\n',
    });
    const bytes = Buffer.from(said);
    const single = through(8192, ...Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
    expect(single.text).toBe(whole.text);
    expect(single.progress.filter((progress) => progress !== null)).toHaveLength(2);
  });

  it('keeps how it began and how it ended, and no more than its limit', () => {
    const flood = Array.from({ length: 5000 }, (_, index) => `remote: line ${index}\n`);
    const { text } = through(1024, 'first\n', ...flood, 'x'.repeat(100_000), 'y'.repeat(100_000), '\nfatal: the end\n');
    expect(text.startsWith('first\n')).toBe(true);
    expect(text.endsWith('fatal: the end\n')).toBe(true);
    expect(text.length).toBeLessThanOrEqual(1024);
  });
});
