/** What happens, as it happens. */
import type { ChannelState, EventName, HeardEvent } from '@svc/client/events.ts';
import { nearestNames } from '@svc/contract/nearest.ts';
import { credentialOf } from '../connection.ts';
import { type CommandDeclaration, type CommandInput, manyArguments, textOption } from '../command.ts';
import { moment } from '../moments.ts';
import { wholeNumber } from '../numbers.ts';
import { Problem, UsageProblem } from '../problems.ts';
import type { Terminal } from '../terminal.ts';
import { oneLine } from '../visible.ts';

export const watchCommand: CommandDeclaration = {
  name: 'watch',
  summary: 'Shows events as they happen, until Ctrl-C.',
  notes: ['A connection that breaks is made again, and goes on after the last event that was shown.'],
  args: [{ form: '[events...]', meaning: 'Names as in docs/events.md, or area:*; default all.', completes: 'event' }],
  options: [
    { form: '--after <id>', meaning: 'Also what happened since this event.' },
    { form: '--workspace <name>', meaning: 'Only events of this workspace.' },
    { form: '-n, --count <events>', meaning: 'Ends after so many.' },
  ],
  examples: ['svc watch', 'svc watch brain:change lock:*', 'svc watch --json | jq -r .name'],
  async run({ client, terminal, surroundings, signal }, input) {
    // The library of sockets is loaded by those who listen.
    const [{ listen, ListenError }, { EVENTS }] = await Promise.all([
      import('@svc/client/events.ts'),
      import('@svc/contract/events.ts'),
    ]);
    const events = manyArguments(input, 0);
    const note = (text: string): void => terminal.note(terminal.paintNote('dim', text));
    for (const name of events) noteUnknown(name, Object.keys(EVENTS), note);
    let left = wholeNumber(input, 'count') ?? Number.POSITIVE_INFINITY;
    const after = eventId(input, 'after');
    // A listener waits for its node for ever; a person wants to know that there is none.
    await client.ready(signal);
    if (terminal.isSeen) note(`listening at ${client.url}; Ctrl-C ends it`);
    const listening = listen({
      url: client.url,
      ...credentialOf(surroundings.env),
      agent: textOption(input, 'agent'),
      ...(events.length === 0 ? {} : { events: events as EventName[] }),
      workspace: textOption(input, 'workspace'),
      after,
      signal,
      onGap: () => note('what happened before is not kept any more; from here on nothing is left out'),
      onChannel: channelNotes(note),
      onEvent(event) {
        if (left <= 0) return;
        if (terminal.isJson) terminal.json(event);
        else terminal.print(eventText(terminal, event));
        left -= 1;
        if (left === 0) listening.close();
      },
    });
    await listening.ended.catch((error: unknown) => {
      if (!(error instanceof ListenError)) throw error;
      const exit = error.code === 'VAF_INPUT_INVALID' ? 'usage' : 'denied';
      throw new Problem(`The node does not let you listen: ${oneLine(error.message)} (${error.code})`, exit);
    });
    signal.throwIfAborted();
  },
};

/** What never was the id of an event would be told as one that is not kept any more. Throws UsageProblem. */
function eventId(input: CommandInput, name: string): string | undefined {
  const text = textOption(input, name);
  if (text === undefined || /^evt_[0-9a-f]{32}$/.test(text)) return text;
  throw new UsageProblem(
    `--${name}: "${oneLine(text)}" is no id of an event, such as evt_0192f0c1a2b37c3d8e4f5a6b7c8d9e0f.`,
    ['Each event has one: svc watch --json'],
  );
}

/** Says what became of the connection, once; that it is there at first was said already. */
function channelNotes(note: (text: string) => void): (state: ChannelState) => void {
  let isLost = false;
  return ({ code, message }) => {
    const wasLost = isLost;
    isLost = code !== 'CONNECTED';
    if (code === 'DISCONNECTED' && !wasLost) note(oneLine(`connection lost (${message}); it is made again`));
    else if (code === 'CONNECTED' && wasLost) note('connected again');
    else if (code !== 'CONNECTED' && code !== 'DISCONNECTED') note(oneLine(`${message} (${code})`));
  };
}

/** A newer node may have events that this installation does not know. */
function noteUnknown(name: string, known: readonly string[], note: (text: string) => void): void {
  const areas = known.map((one) => `${one.split(':')[0]}:*`);
  if (known.includes(name) || areas.includes(name)) return;
  note(
    `no event known here is named ${oneLine(name)}; nearest: ${nearestNames(name, [...known, ...new Set(areas)], 2).join(', ')}`,
  );
}

/** In every event, or for machines alone. */
const LEFT_OUT = new Set(['id', 'name', 'own', 'at', 'node', 'resources', 'hash']);
const TIME_AT = 11;

function eventText(terminal: Terminal, event: HeardEvent): string {
  const common = Object.entries(event).filter(([field, value]) => !LEFT_OUT.has(field) && value !== null);
  const facts = [...Object.entries(event.own ?? {}), ...common];
  const shown = facts.map(([field, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `${terminal.paint('dim', `${field} `)}${oneLine(text)}`;
  });
  const head = `${terminal.paint('dim', moment(event.at).slice(TIME_AT))} ${terminal.paint('cyan', oneLine(event.name))}`;
  return [head, ...shown].join('  ');
}
