/** Text of others on somebody's terminal: nothing in it may move the cursor, change colours or turn the line round. */

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const CONTROL_PICTURES = 0x2400;
const DELETE = 0x7f;

/** Control characters as their pictures; lines and tabs stay. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSEEN, (unseen) => {
    const code = unseen.charCodeAt(0);
    if (code === DELETE) return '␡';
    return code < 0x20 ? String.fromCharCode(CONTROL_PICTURES + code) : '�';
  });
}

/** The same in one line. */
export function oneLine(text: string): string {
  return visible(text).replaceAll(/\s+/g, ' ').trim();
}

/** JSON in one line; what would act on a terminal is written as JSON may write it, and is read as it was. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(UNSEEN, (unseen) => `\\u${unseen.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
