/** The text of a commit: the user's words, then our trailers where only we can write them. */

export interface Attribution {
  readonly agent?: string | undefined;
  readonly fence?: number | undefined;
}

/**
 * User lines that begin like our trailers get one space in front. Trailing newlines of the message are dropped; the
 * rest is kept as it is.
 */
export function composeMessage(message: string, { agent, fence }: Attribution): string {
  const body = withoutLastNewlines(message).replace(/^(?=svc-)/gim, ' ');
  const trailers = [
    ...(agent === undefined ? [] : [`Svc-Agent: ${agent.replace(/\p{Cc}+/gu, ' ')}`]),
    ...(fence === undefined ? [] : [`Svc-Fence: ${fence}`]),
  ];
  return trailers.length === 0 ? `${body}\n` : `${body}\n\n${trailers.join('\n')}\n`;
}

export interface ParsedMessage extends Attribution {
  readonly message: string;
}

/** Splits a commit's text into the message and our trailers. */
export function parseMessage(text: string): ParsedMessage {
  const paragraph = /\n\n(?:Svc-Agent: (.*)\n?)?(?:Svc-Fence: (\d+)\n?)?$/.exec(text);
  const [whole = '', agent, fence] = paragraph ?? [];
  const message = withoutLastNewlines(whole === '' ? text : text.slice(0, -whole.length));
  return {
    message,
    ...(agent === undefined ? {} : { agent }),
    ...(fence === undefined ? {} : { fence: Number(fence) }),
  };
}

/** A pattern that ends in `$` would begin anew at every newline of a long run. */
function withoutLastNewlines(text: string): string {
  let end = text.length;
  while (end > 0 && text.charAt(end - 1) === '\n') end -= 1;
  return text.slice(0, end);
}
