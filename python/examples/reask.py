"""Asks the model again for each record that breaks a rule, while the other records are already used.

    OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none python reask.py MODEL
"""

import asyncio
import sys
from typing import Any

import openai
import pydantic
import tokenline


class Invoice(pydantic.BaseModel):
    number: str
    net: int = pydantic.Field(ge=0)
    total: int


async def main(model: str) -> None:
    client = openai.AsyncOpenAI()
    prompt: Any = {"role": "user", "content": 'The invoices as JSON Lines: {"number","net","total"}.'}

    async def ask_again(reject: tokenline.Reject) -> "str | None":
        text = f"This record was rejected: {reject.for_model}\n\nWrite it again, corrected, and nothing else."
        messages: Any = [prompt, {"role": "assistant", "content": reject.text}, {"role": "user", "content": text}]
        answer = await client.chat.completions.create(model=model, messages=messages)
        return answer.choices[0].message.content

    response = await client.chat.completions.create(model=model, messages=[prompt], stream=True)
    invoices = tokenline.arecords(response, model=Invoice, provider="openai-chat", reask=ask_again)
    async for invoice in invoices:
        print(invoice)
    print(invoices.report.reasked, [str(reject) for reject in invoices.report.rejects])


asyncio.run(main(sys.argv[1]))
