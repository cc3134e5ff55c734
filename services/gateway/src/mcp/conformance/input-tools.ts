/** Tools that need something of the client first, and are called again with it. */
import { INVALID_PARAMS, McpError } from '../../domain/mcp-wire.ts';
import {
  accepted,
  acceptedText,
  elicitation,
  type Fields,
  type Fixture,
  type FixtureCall,
  type InputRequired,
  ROOTS,
  said,
  sampled,
  sampling,
  type ToolAnswer,
} from './fixture.ts';

const STRING = { type: 'string' };
const USER_NAME = elicitation('What is your name?', { name: STRING });
const CONFIRM = elicitation('Please confirm', { ok: { type: 'boolean' } });

/** The requests whose answers are not there. */
function missing(
  requests: Readonly<Record<string, Fields>>,
  isAnswered: (key: string) => boolean,
): InputRequired | null {
  return Object.keys(requests).every(isAnswered) ? null : { inputRequests: requests };
}

function roots({ inputs }: FixtureCall): readonly unknown[] | null {
  const answer = inputs['client_roots'];
  const listed = typeof answer === 'object' && answer !== null && 'roots' in answer ? answer.roots : null;
  return Array.isArray(listed) ? listed : null;
}

export function userName({ inputs }: FixtureCall): string | null {
  return acceptedText(inputs['user_name'], 'name');
}

export const ASK_USER_NAME: InputRequired = { inputRequests: { user_name: USER_NAME } };

function multipleInputs(call: FixtureCall): ToolAnswer | InputRequired {
  const requests = { user_name: USER_NAME, greeting: sampling('Generate a greeting', 50), client_roots: ROOTS };
  const [name, greeting, listed] = [userName(call), sampled(call.inputs['greeting']), roots(call)];
  if (call.state() === null || name === null || greeting === null || listed === null) {
    return { inputRequests: requests, requestState: call.seal('all') };
  }
  return said(`${greeting} ${name}, with ${listed.length} roots`);
}

function multiRound(call: FixtureCall): ToolAnswer | InputRequired {
  const state = call.state() ?? '';
  const name = acceptedText(call.inputs['step1'], 'name');
  const color = acceptedText(call.inputs['step2'], 'color');
  if (state.startsWith('named ') && color !== null) return said(`${state.slice(6)} likes ${color}`);
  if (state === 'begun' && name !== null) {
    const step2 = elicitation('Step 2: What is your favorite color?', { color: STRING });
    return { inputRequests: { step2 }, requestState: call.seal(`named ${name}`) };
  }
  const step1 = elicitation('Step 1: What is your name?', { name: STRING });
  return { inputRequests: { step1 }, requestState: call.seal('begun') };
}

function confirmed(call: FixtureCall, text: string): ToolAnswer | InputRequired {
  if (call.state() === null || accepted(call.inputs['confirm'], 'ok') === null) {
    return { inputRequests: { confirm: CONFIRM }, requestState: call.seal('asked') };
  }
  return said(text);
}

/** Asks only for what the client says it can do. */
function withinCapabilities({ capabilities, inputs }: FixtureCall): ToolAnswer | InputRequired {
  const possible: Readonly<Record<string, Fields>> = {
    ...(capabilities['sampling'] === undefined ? {} : { capital: sampling('What is the capital of France?', 100) }),
    ...(capabilities['elicitation'] === undefined ? {} : { user_name: USER_NAME }),
  };
  if (Object.keys(possible).length === 0) throw new McpError(INVALID_PARAMS, 'The client can be asked nothing.');
  return missing(possible, (key) => Object.hasOwn(inputs, key)) ?? said('It was answered.');
}

const PREFIX = 'test_input_required_result';

export const INPUT_TOOLS: readonly Fixture[] = [
  {
    name: `${PREFIX}_elicitation`,
    description: 'Asks for a name.',
    run(_args, call) {
      const name = userName(call);
      return name === null ? ASK_USER_NAME : said(`Hello, ${name}!`);
    },
  },
  {
    name: `${PREFIX}_sampling`,
    description: 'Has the client make a message.',
    run(_args, { inputs }) {
      const answer = sampled(inputs['capital_question']);
      if (answer !== null) return said(answer);
      return { inputRequests: { capital_question: sampling('What is the capital of France?', 100) } };
    },
  },
  {
    name: `${PREFIX}_list_roots`,
    description: 'Asks for the roots.',
    run(_args, call) {
      const listed = roots(call);
      return listed === null ? { inputRequests: { client_roots: ROOTS } } : said(JSON.stringify(listed));
    },
  },
  {
    name: `${PREFIX}_request_state`,
    description: 'Keeps its state with the client.',
    run: (_args, call) => confirmed(call, 'state-ok'),
  },
  {
    name: `${PREFIX}_tampered_state`,
    description: 'Notices when its state was changed.',
    run: (_args, call) => confirmed(call, 'The state is as it was.'),
  },
  {
    name: `${PREFIX}_multiple_inputs`,
    description: 'Asks for several things at once.',
    run: (_args, call) => multipleInputs(call),
  },
  {
    name: `${PREFIX}_multi_round`,
    description: 'Asks twice.',
    run: (_args, call) => multiRound(call),
  },
  {
    name: `${PREFIX}_capabilities`,
    description: 'Asks for what the client can do.',
    run: (_args, call) => withinCapabilities(call),
  },
];
