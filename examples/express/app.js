// Each route says what a request costs and which permission its key needs.
import { protect } from '@keystile/sdk/express';
import express from 'express';

const app = express();

app.get('/search', protect(), (request, response) => {
  response.json({ results: [], creditsLeft: request.keystile.remaining });
});

app.post('/images', protect({ cost: 5 }), (request, response) => {
  response.status(201).json({ image: 'one.png', creditsLeft: request.keystile.remaining });
});

app.delete('/images/:name', protect({ cost: 0, permissions: 'images.delete' }), (request, response) => {
  response.json({ deleted: request.params.name });
});

app.listen(process.env.PORT ?? 3000);
