/** Answers over NATS with what it was sent. `NATS_URL` names the server. */
import { connect } from '@nats-io/transport-node';

export const ECHO_SUBJECT = 'bench.echo';

if (import.meta.main) {
  const connection = await connect({ servers: new URL(process.env['NATS_URL'] ?? '').host, noAsyncTraces: true });
  connection.subscribe(ECHO_SUBJECT, {
    queue: 'bench',
    callback: (_error, { data, reply }) => {
      const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
      if (reply !== undefined) connection.publish(reply, JSON.stringify(JSON.parse(text)));
    },
  });
  await connection.flush();
  process.stdout.write('answering\n');
}
