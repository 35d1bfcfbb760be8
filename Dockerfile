# One image for `perdure serve` and `perdure worker`: Perdure, and the workflows of a folder. This one has those of the demo; put
# your own in their place (docs/running.md).
FROM node:22-slim AS build
WORKDIR /perdure
COPY . .
# The servers that tests start are not for production.
RUN npm ci && npm run bootstrap && npm prune --omit=dev && rm -rf node_modules/pg15-bin node_modules/pg18-bin

FROM node:22-slim
ENV NODE_ENV=production
WORKDIR /perdure
COPY --from=build /perdure/package.json ./
COPY --from=build /perdure/node_modules ./node_modules
COPY --from=build /perdure/dist ./dist
COPY --from=build /perdure/examples/demo ./examples/demo
USER node
EXPOSE 4114
# Node is the process that SIGTERM reaches: it drains, and ends with 0.
ENTRYPOINT ["node", "dist/cli/main.js"]
CMD ["serve", "examples/demo", "--host", "0.0.0.0"]
