/** Tools that tell or ask something before they answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { missingCapability } from '../../domain/mcp-wire.ts';
import { elicitation, type Fields, type Fixture, type FixtureCall, said, sampled, sampling } from './fixture.ts';

const STEP_MS = 50;

const DEFAULTS: Fields = {
  name: { type: 'string', description: 'A name', default: 'John Doe' },
  age: { type: 'integer', description: 'An age', default: 30 },
  score: { type: 'number', description: 'A score', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};

const titled = (words: readonly (readonly [string, string])[]) =>
  words.map(([value, title]) => ({ const: value, title }));
const VALUES = ['value1', 'value2', 'value3'];
const OPTIONS = ['option1', 'option2', 'option3'];
const ENUMS: Fields = {
  untitledSingle: { type: 'string', enum: OPTIONS },
  titledSingle: {
    type: 'string',
    oneOf: titled([
      ['value1', 'First Option'],
      ['value2', 'Second Option'],
      ['value3', 'Third Option'],
    ]),
  },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
  titledMulti: {
    type: 'array',
    items: { anyOf: titled(VALUES.map((value, index) => [value, `${['First', 'Second', 'Third'][index]} Choice`])) },
  },
};

async function elicited(
  call: FixtureCall,
  message: string,
  properties: Fields,
  required = Object.keys(properties),
): Promise<string> {
  const requestedSchema = { type: 'object', properties, required };
  const { action, content } = await call.request('elicitation/create', { message, requestedSchema });
  return `action=${String(action)}, content=${JSON.stringify(content ?? {})}`;
}

function log(call: FixtureCall, data: string): void {
  if (call.wantsLog) call.notify('notifications/message', { level: 'info', logger: 'conformance', data });
}

const logging: Fixture = {
  name: 'test_tool_with_logging',
  description: 'Logs three times.',
  async run(_args, call) {
    log(call, 'Tool execution started');
    await sleep(STEP_MS);
    log(call, 'Tool processing data');
    await sleep(STEP_MS);
    log(call, 'Tool execution completed');
    return said('It logged.');
  },
};

const progress: Fixture = {
  name: 'test_tool_with_progress',
  description: 'Tells how far it is.',
  async run(_args, { progressToken, notify }) {
    for (const done of [0, 50, 100]) {
      if (progressToken !== undefined) notify('notifications/progress', { progressToken, progress: done, total: 100 });
      if (done < 100) await sleep(STEP_MS);
    }
    return said('It is done.');
  },
};

/** One argument, a text that has to be there. */
function needs(name: string): Fields {
  return { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] };
}

const asking: readonly Fixture[] = [
  {
    name: 'test_sampling',
    description: 'Has the client make a message.',
    inputSchema: needs('prompt'),
    async run({ prompt }, call) {
      const { params } = sampling(String(prompt), 100);
      const answer = await call.request('sampling/createMessage', params as Fields);
      return said(`LLM response: ${sampled(answer)}`);
    },
  },
  {
    name: 'test_elicitation',
    description: 'Asks the user for a name and an address.',
    inputSchema: needs('message'),
    async run({ message }, call) {
      const wanted = {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      };
      return said(`User response: ${await elicited(call, String(message), wanted)}`);
    },
  },
  {
    name: 'test_elicitation_sep1034_defaults',
    description: 'Asks for values that have defaults.',
    run: async (_args, call) => said(`Elicitation completed: ${await elicited(call, 'Defaults', DEFAULTS, [])}`),
  },
  {
    name: 'test_elicitation_sep1330_enums',
    description: 'Asks for choices of every form.',
    run: async (_args, call) => said(`Elicitation completed: ${await elicited(call, 'Choices', ENUMS, [])}`),
  },
];

const diagnostic: readonly Fixture[] = [
  {
    name: 'test_missing_capability',
    description: 'Needs a client that can sample.',
    run(_args, { capabilities }) {
      if (capabilities['sampling'] === undefined) throw missingCapability({ sampling: {} });
      return said('The client can sample.');
    },
  },
  {
    name: 'test_streaming_elicitation',
    description: 'Needs an answer of the user.',
    run: () => ({ inputRequests: { answer: elicitation('What is it?', { answer: { type: 'string' } }) } }),
  },
  {
    name: 'test_logging_tool',
    description: 'Logs, to those who asked for it.',
    run(_args, call) {
      log(call, 'logged');
      return said('It logged.');
    },
  },
  ...(['tools', 'prompts'] as const).map(
    (list): Fixture => ({
      name: `test_trigger_${list === 'tools' ? 'tool' : 'prompt'}_change`,
      description: `Tells that the list of ${list} is another one.`,
      run(_args, { changed }) {
        changed(list);
        return said('It was told.');
      },
    }),
  ),
];

export const TALKING_TOOLS: readonly Fixture[] = [logging, progress, ...asking, ...diagnostic];
