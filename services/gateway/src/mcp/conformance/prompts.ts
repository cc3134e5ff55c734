/** Prompts, and what completes their arguments. */
import { isObject } from '../../domain/call-form.ts';
import { INVALID_PARAMS, McpError } from '../../domain/mcp-wire.ts';
import { PNG } from './content-tools.ts';
import { acceptedText, elicitation, type Fields, type FixtureCall, type InputRequired, text } from './fixture.ts';

interface PromptAnswer {
  readonly messages: readonly Fields[];
}

interface Prompt {
  readonly name: string;
  readonly description: string;
  readonly arguments?: readonly Fields[];
  get(args: Fields, call: FixtureCall): PromptAnswer | InputRequired;
}

const argument = (name: string, description: string): Fields => ({ name, description, required: true });
const user = (content: Fields): Fields => ({ role: 'user', content });

const PROMPTS: readonly Prompt[] = [
  {
    name: 'test_simple_prompt',
    description: 'A text.',
    get: () => ({ messages: [user(text('This is a simple prompt for testing.'))] }),
  },
  {
    name: 'test_prompt_with_arguments',
    description: 'A text with two arguments in it.',
    arguments: [argument('arg1', 'First test argument'), argument('arg2', 'Second test argument')],
    get: ({ arg1, arg2 }) => ({
      messages: [user(text(`Prompt with arguments: arg1='${String(arg1)}', arg2='${String(arg2)}'`))],
    }),
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A resource and a text.',
    arguments: [argument('resourceUri', 'URI of the resource to embed')],
    get: ({ resourceUri }) => ({
      messages: [
        user({
          type: 'resource',
          resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        }),
        user(text('Please process the embedded resource above.')),
      ],
    }),
  },
  {
    name: 'test_prompt_with_image',
    description: 'An image and a text.',
    get: () => ({
      messages: [
        user({ type: 'image', data: PNG, mimeType: 'image/png' }),
        user(text('Please analyze the image above.')),
      ],
    }),
  },
  {
    name: 'test_input_required_result_prompt',
    description: 'Needs something of the user first.',
    get(_args, { inputs }) {
      const context = acceptedText(inputs['user_context'], 'context');
      if (context !== null) return { messages: [user(text(`In the context of ${context}.`))] };
      const question = elicitation('What context should the prompt use?', { context: { type: 'string' } });
      return { inputRequests: { user_context: question } };
    },
  },
];

export const LISTED_PROMPTS = PROMPTS.map(({ get: _get, ...shown }) => shown);

/** Throws McpError. */
export function getPrompt({ name, arguments: args = {} }: Fields, call: FixtureCall): PromptAnswer | InputRequired {
  const prompt = PROMPTS.find((each) => each.name === name);
  if (prompt === undefined) throw new McpError(INVALID_PARAMS, 'There is no such prompt.');
  if (!isObject(args)) throw new McpError(INVALID_PARAMS, 'params.arguments must be an object.');
  return prompt.get(args, call);
}

const WORDS = ['paris', 'park', 'party'];

/** Throws McpError. */
export function complete({ argument: asked }: Fields): Fields {
  if (!isObject(asked) || typeof asked['value'] !== 'string') {
    throw new McpError(INVALID_PARAMS, 'params.argument must name an argument and its value.');
  }
  const begun = asked['value'];
  const values = WORDS.filter((word) => word.startsWith(begun));
  return { completion: { values, total: values.length, hasMore: false } };
}
