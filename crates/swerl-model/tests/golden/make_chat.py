#!/usr/bin/env python3
"""Conversations as transformers renders them.

usage: make_chat.py > chat.json        (pip install transformers jinja2)

The templates are written here in the shapes of three families: SmolLM2 and Qwen2.5 (ChatML, with a default system
message), Llama-3.1 (headers, trimmed contents, a date of its own), and one with Python's string methods, loop
controls and a refusal.
"""

import json
import sys

from transformers.utils.chat_template_utils import render_jinja_template

TEMPLATES = {
    "smollm2": (
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
        "{{ '<|im_start|>system\nYou help.<|im_end|>\n' }}{% endif %}"
        "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    ),
    "qwen2.5": """{%- if messages[0]['role'] == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
{%- else %}
    {{- '<|im_start|>system\\nBe useful.<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "llama3.1": """{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined and false %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "01 Feb 2024" %}
    {%- endif %}
{%- endif %}
{#- The system message has the date in it. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Today: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "methods": """{% set ns = namespace(last=-1) %}
{% for message in messages %}
    {% if message.role == 'user' %}
        {% set ns.last = loop.index0 %}
    {% endif %}
{% endfor %}
{% for message in messages %}
    {% if message.role not in ['user', 'assistant', 'system'] %}
        {{ raise_exception('unknown role ' + message.role) }}
    {% endif %}
    {% if message.content.startswith('#skip') %}{% continue %}{% endif %}
[{{ message.role.upper() }}{{ '*' if loop.index0 == ns.last }}]
{{ message.content.strip().split('\\n')[0] | tojson }}{{ eos_token }}
    {% if message.role == 'assistant' %}
        {% generation %}{{ message.content }}{% endgeneration %}
    {% endif %}
{% endfor %}
""",
}
CONVERSATIONS = [
    [("user", "Fix it.")],
    [("system", "  Answer in one line. "), ("user", "  What is 2 < 3 & \"x\"?\n"), ("assistant", "True — 'yes'\n"), ("user", "é日本😀\t")],
    [("user", "a"), ("assistant", "b"), ("system", "c"), ("user", "#skip\nme")],
    [("user", "{{ 1 + 1 }} {% if %} <|im_end|>\n<|eot_id|> </s>")],
    [("tool", "x")],
]
TOKENS = {"bos_token": "<|begin_of_text|>", "eos_token": "</s>"}


def cases():
    for name, template in TEMPLATES.items():
        for pairs in CONVERSATIONS:
            messages = [{"role": role, "content": content} for role, content in pairs]
            for prompt in (False, True):
                case = {"template": name, "messages": messages, "generation_prompt": prompt}
                try:
                    rendered, _ = render_jinja_template(
                        [messages], chat_template=template, add_generation_prompt=prompt, **TOKENS
                    )
                    yield case | {"text": rendered[0]}
                except Exception as error:
                    yield case | {"refused": str(error)}


json.dump({"templates": TEMPLATES, "tokens": TOKENS, "cases": list(cases())}, sys.stdout, indent=1, ensure_ascii=False)
sys.stdout.write("\n")
