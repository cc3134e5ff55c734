/** Messages as they stand on stdio, a line each, and as a stream of events carries them. */

/** Larger than any body the service takes: its own answer says so for what is between. */
const MAX_LINE = 8 * 1024 * 1024;

export interface Lines {
  /** Lines that are complete now, without the empty ones; null stands for one that was too long. */
  take(text: string): (string | null)[];
}

export function splitLines(limit = MAX_LINE): Lines {
  let parts: string[] = [];
  let length = 0;
  const add = (part: string): void => {
    length += part.length;
    if (length <= limit) parts.push(part);
    else parts = [];
  };
  const complete = (): string | null => {
    const line = length > limit ? null : parts.join('').trim();
    parts = [];
    length = 0;
    return line;
  };
  return {
    take(text) {
      const [first = '', ...further] = text.split('\n');
      add(first);
      const lines: (string | null)[] = [];
      for (const part of further) {
        lines.push(complete());
        add(part);
      }
      return lines.filter((line) => line !== '');
    },
  };
}

/** The data of each event, as its last line comes. */
export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const lines = splitEvents();
  const decoder = new TextDecoder();
  for await (const chunk of body) yield* lines(decoder.decode(chunk, { stream: true }));
}

function splitEvents(): (text: string) => string[] {
  let rest = '';
  let data: string[] = [];
  return (text) => {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    const events: string[] = [];
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line === '' && data.length > 0) {
        events.push(data.join('\n'));
        data = [];
      } else if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    }
    return events;
  };
}

/** JSON on one line. */
export function oneLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? JSON.stringify(JSON.parse(json)) : json;
}

/** A message without an id gets this one. Throws SyntaxError. */
export function answerTo(id: unknown, json: string): string {
  const message = JSON.parse(json) as { readonly id?: unknown };
  return JSON.stringify({ ...message, id: message.id ?? id });
}

/** `more`: beside our code in its data. */
export function errorLine(id: unknown, code: number, message: string, ours: string, more: object = {}): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data: { code: ours, ...more } } });
}
