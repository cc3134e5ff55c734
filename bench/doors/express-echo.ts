/** JSON echo on Express. */
import { createServer } from 'node:http';
import express from 'express';
import { announce } from './door.ts';

const app = express();
app.disable('x-powered-by').disable('etag');
app.post('/call', express.json(), (request, response) => {
  response.json(request.body);
});
announce(createServer(app));
