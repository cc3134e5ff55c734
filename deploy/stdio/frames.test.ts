import { describe, expect, it } from 'vitest';
import { answerTo, eventData, oneLine, splitLines } from './frames.ts';

describe('lines', () => {
  it('come whole, wherever the text was cut', () => {
    const lines = splitLines();
    expect([lines.take('{"a"'), lines.take(':1}\n{"b":2}\r\n\n{"c"'), lines.take(':3}\n')]).toEqual([
      [],
      ['{"a":1}', '{"b":2}'],
      ['{"c":3}'],
    ]);
  });

  it('that are too long are told as such, and the next one is read', () => {
    const lines = splitLines(10);
    expect(lines.take('12345')).toEqual([]);
    expect(lines.take('678901')).toEqual([]);
    expect(lines.take('x\n{}\n')).toEqual([null, '{}']);
  });
});

describe('events', () => {
  async function dataOf(...chunks: string[]): Promise<string[]> {
    const bytes = chunks.map((chunk) => new TextEncoder().encode(chunk));
    const events: string[] = [];
    for await (const data of eventData(ReadableStream.from(bytes))) events.push(data);
    return events;
  }

  it('give their data, wherever the stream was cut, and comments give none', async () => {
    expect(
      await dataOf('event: message\ndata: {"a"', ':1}\n', '\n:\n\ndata:{"b":2}\r\n\r\ndata: x\ndata: y\n\n'),
    ).toEqual(['{"a":1}', '{"b":2}', 'x\ny']);
  });

  it('that did not end are none', async () => {
    expect(await dataOf('data: {"a":1}\n')).toEqual([]);
  });
});

it('a message of several lines becomes one', () => {
  expect(oneLine('{\n  "a": "x\\ny"\n}')).toBe('{"a":"x\\ny"}');
  expect(oneLine('{"a" : 1}')).toBe('{"a" : 1}');
});

it('an answer that names no request names the one it is for', () => {
  expect(JSON.parse(answerTo(7, '{"jsonrpc":"2.0",\n"error":{"code":-32000}}'))).toEqual({
    jsonrpc: '2.0',
    id: 7,
    error: { code: -32_000 },
  });
  expect(JSON.parse(answerTo(7, '{"id":null}'))).toEqual({ id: 7 });
  expect(JSON.parse(answerTo(7, '{"id":"other"}'))).toEqual({ id: 'other' });
});
