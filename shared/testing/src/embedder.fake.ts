/** An endpoint in the form of OpenAI that knows a few words which mean the same, and fails as it is told. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/** `gone`: nobody listens at its address. `reset`: the connection ends in the middle of an answer. */
type EmbedderMood = 'well' | 'slow' | 'failing' | 'other length' | 'garbage' | 'reset' | 'gone';

export interface FakeEmbedder extends AsyncDisposable {
  /** For `embed.url` and `chat.url`. */
  readonly url: string;
  /** Changed: whoever waits for it is hung up on. */
  mood: EmbedderMood;
  /** A text with this word is not taken. */
  poison: string | null;
  /** Every text that it was asked about. */
  readonly asked: string[];
  /** What the model that writes has to say. */
  written: string;
  /** Of the last question. */
  authorization: string | undefined;
}

/** Words of one line mean the same. */
const CONCEPTS = [
  ['ship', 'ships', 'boat', 'vessel'],
  ['quick', 'fast', 'swift'],
  ['money', 'coins', 'cash'],
  ['house', 'home', 'dwelling'],
];
const LENGTH = CONCEPTS.length + 1;

/** A dimension for each concept, and a little of one that all texts share. */
function meaningOf(text: string, length: number): number[] {
  const words = new Set(text.toLowerCase().match(/[a-z]+/g));
  const concepts = CONCEPTS.map((concept) => concept.filter((word) => words.has(word)).length);
  return [...concepts, 0.01, ...Array.from({ length: length - LENGTH }, () => 0)];
}

const Question = z.object({ model: z.string(), input: z.array(z.string()).optional() });

export async function startFakeEmbedder(): Promise<FakeEmbedder> {
  const waiting = new Set<ServerResponse>();
  let mood: EmbedderMood = 'well';
  const hangUp = (): void => {
    for (const response of waiting) response.destroy();
    waiting.clear();
  };
  const server = createServer((request, response) => void serve(request, response));
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    fake.authorization = request.headers.authorization;
    const { input } = Question.parse(JSON.parse(Buffer.concat(parts).toString()));
    fake.asked.push(...(input ?? []));
    answer(response, input ?? null);
  }
  const say = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  function answer(response: ServerResponse, input: readonly string[] | null): void {
    if (mood === 'slow') waiting.add(response);
    else if (mood === 'failing') say(response, 500, { error: { message: 'no' } });
    else if (mood === 'garbage') response.end('{"data":');
    else if (mood === 'reset') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"data":[', () => response.socket?.resetAndDestroy());
    } else if (input === null)
      say(response, 200, { choices: [{ message: { role: 'assistant', content: fake.written } }] });
    else if (input.some((text) => fake.poison !== null && text.includes(fake.poison)))
      say(response, 400, { error: { message: 'too long' } });
    else {
      const length = LENGTH + (mood === 'other length' ? 3 : 0);
      // As the form allows, in any order.
      const data = input.map((text, index) => ({ index, embedding: meaningOf(text, length) })).reverse();
      say(response, 200, { data });
    }
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const fake: FakeEmbedder = {
    url: `http://127.0.0.1:${port}/v1`,
    get mood() {
      return mood;
    },
    set mood(next) {
      if (next === 'gone' && mood !== 'gone') {
        server.close();
        server.closeAllConnections();
      } else if (mood === 'gone' && next !== 'gone') server.listen(port, '127.0.0.1');
      mood = next;
      hangUp();
    },
    poison: null,
    asked: [],
    written: '',
    authorization: undefined,
    async [Symbol.asyncDispose]() {
      hangUp();
      server.closeAllConnections();
      if (mood !== 'gone') await new Promise((resolve) => server.close(resolve));
    },
  };
  return fake;
}
