// A server that lists rivers as a model would, in place of yours.
const RIVERS = [
  { name: "Volga", length_km: 3531, mouth: "Caspian Sea" },
  { name: "Danube", length_km: 2850, mouth: "Black Sea" },
  { name: "Rhine", length_km: 1233, mouth: "North Sea" },
];

export default {
  plugins: [
    {
      name: "rivers",
      configureServer(server) {
        server.middlewares.use("/rivers", async (_request, response) => {
          response.setHeader("content-type", "application/x-ndjson");
          for (const piece of RIVERS.map((river) => `${JSON.stringify(river)}\n`).join("").match(/.{1,4}|\n/g)) {
            response.write(piece);
            await new Promise((resolve) => setTimeout(resolve, 40));
          }
          response.end();
        });
      },
    },
  ],
};
