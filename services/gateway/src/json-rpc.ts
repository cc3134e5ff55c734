/** The protocol of /call and /mcp/exec: one call, or the list of tools. */
import { frameResult, callFormOf, replyFormOf } from './domain/call-form.ts';
import { assertBounded } from './domain/json-limits.ts';
import type { Protocol } from './door.ts';
import { failureHeaders, failureText, type ReplyWriter } from './http-exchange.ts';
import { headerText } from './header-text.ts';
import { stampOf } from './identity.ts';
import { parseJson } from './json-body.ts';
import type { Ports } from './ports.ts';
import type { ServiceDirectory } from './service-directory.ts';
import type { CallTool } from './tool-call.ts';

interface JsonRpcParts {
  readonly directory: ServiceDirectory;
  readonly ports: Pick<Ports, 'profilesFor'>;
  readonly callTool: CallTool;
  readonly writer: ReplyWriter;
}

export function createJsonRpc({ directory, ports, callTool, writer }: JsonRpcParts): Protocol {
  return {
    async perform(body, calling) {
      const { exchange, visit, door } = calling;
      const parsed = parseJson(body);
      exchange.form = replyFormOf(parsed, door);
      assertBounded(parsed);
      const form = callFormOf(parsed, exchange.form);
      if (form.method === 'tools/list') {
        const profile = headerText(exchange.request.headers, 'x-svc-profile');
        const chosen = visit.identity.token?.limits.profile ?? profile;
        const { text } = directory.lists(chosen, undefined, await ports.profilesFor(chosen, () => stampOf(visit)));
        return writer.json(exchange, 200, frameResult(exchange.form, `{"content":${text}}`));
      }
      const { body: result, replayed } = await callTool(form, calling);
      exchange.replayed = replayed;
      writer.json(exchange, 200, frameResult(exchange.form, result));
    },
    failure: (exchange, error) => ({
      status: error.status,
      body: failureText(exchange, error),
      headers: failureHeaders(error),
    }),
  };
}
